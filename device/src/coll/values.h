// Values of the types that RCCL knows, and how those of several ranks become one.
#pragma once

#include <stddef.h>

#include <vector>

#include "types.h"

namespace hipcpu::coll {

size_t size_of(ncclDataType_t datatype);

// Writes what the values of all ranks become. Sums of 16 bits are made in single precision and rounded
// once; those of integers are modulo a power of two.
void reduce(ncclDataType_t datatype, int op, const std::vector<const char *> &ranks, size_t count,
            char *out);

// Multiplies values by one of their type.
void scale(ncclDataType_t datatype, const char *scalar, size_t count, char *values);

}  // namespace hipcpu::coll

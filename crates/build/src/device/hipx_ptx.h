// PTX instructions as functions named after them, for inline assembly: `cvt.rn.f16.f32 %0, %1;` is
// hipx::ptx::cvt_rn_f16_f32(d, a). What each computes is the PTX ISA's, in the section that stands
// above it. Operands are of any type of the register's size, and so are results, by reference.
// What the ISA calls approximate is computed more exactly; the bits of a NaN are not the ISA's
// everywhere.
#pragma once

#include "hipx.h"

#include "hipx_ptx_integer.h"
#include "hipx_ptx_matrix.h"
#include "hipx_ptx_memory.h"
#include "hipx_ptx_number.h"
#include "hipx_ptx_warp.h"

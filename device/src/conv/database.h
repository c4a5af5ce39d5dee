// Which convolutions were searched: the user's find-db.
#pragma once

#include <string>

namespace hipcpu::conv {

// Whether a problem was searched, in this process or, where MIOPEN_USER_DB_PATH names a folder, in one
// before.
bool was_searched(const std::string &problem);

// Keeps that it was. Without a folder nothing is written: MIOpen's own would be in the user's home.
void keep_search(const std::string &problem);

}  // namespace hipcpu::conv

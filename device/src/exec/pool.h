// Host threads that help with work that can be shared.
#pragma once

#include <functional>

namespace hipcpu {

// Calls `work` on the calling thread, and at the same time on others that are free. Returns when
// all calls have returned. `work` takes pieces of what there is to do until none is left; the
// calling thread never waits for a helper to begin.
void share(const std::function<void()> &work);

}  // namespace hipcpu

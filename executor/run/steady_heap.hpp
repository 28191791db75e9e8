#pragma once

// Memory that ops free and take again.

namespace pipeloom::executor {

/// From now on memory that this process frees stays its own. A tensor of some hundred KiB is otherwise given back to the system by the op that
/// frees it, and the next one that takes it pays for every page anew, in some steps and not in others: op times then vary for
/// no reason of theirs. Does something with the GNU C library only.
void keep_freed_memory();

}  // namespace pipeloom::executor

#include "sim/base/table_size.hpp"

#include <string>

namespace pipeloom {

void throw_table_too_large(std::int64_t cells, std::uint64_t most) {
  throw TooLargeError("a table of " + std::to_string(cells) +
                      " cells by stage and microbatch is needed, and " + std::to_string(most) +
                      " are allowed here; take fewer ranks, chunks or microbatches");
}

}  // namespace pipeloom

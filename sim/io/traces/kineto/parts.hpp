#pragma once

// Which rows of a record are one rank.

#include <cstdint>
#include <vector>

#include "sim/io/traces/kineto/record.hpp"

namespace pipeloom::io {

/// The rows of one rank.
struct KinetoPart {
  std::int32_t rank = kUnknown;
  KinetoRowName name;
  const KinetoRow* ops = nullptr;
  /// Of the host or of the device, as `ops`, which is among them.
  std::vector<const KinetoRow*> rows = {};
  /// Marks of steps, and when the host opened what the device ran.
  std::vector<const KinetoRow*> host = {};
};

/// The row with most ops, null if none has any.
[[nodiscard]] const KinetoRow* busiest(const std::vector<const KinetoRow*>& rows);

struct KinetoParts {
  /// Empty where no range is an op. Their ranks differ, or are all kUnknown.
  std::vector<KinetoPart> parts;
  bool on_device = false;
};

/// Processes are ranks, and so are threads of one process that are called so. Ranks have numbers by their ranges, by names of processes and threads, by
/// distributedInfo and the file's name where there is one, by their stages. Throws InputError where nothing says which rank a process is.
[[nodiscard]] KinetoParts parts_of(const KinetoRecord& record);

}  // namespace pipeloom::io

#pragma once

// What one Chrome trace of a profiler says, by process and thread, and the ranks that are in it: one, as torch.profiler writes them, or several,
// where files of ranks were merged.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/io/traces/range_names.hpp"
#include "sim/io/traces/trace.hpp"

namespace pipeloom::io {

/// In nanoseconds of the file.
struct KinetoSpan {
  std::int64_t start = 0;
  std::int64_t end = 0;
};

/// A range with a meaning; times in nanoseconds of the file.
struct KinetoRange {
  RangeMeaning meaning;
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::string external_id;
};

/// Ranges of one thread or stream.
struct KinetoRow {
  std::vector<KinetoRange> ranges;
  std::size_t num_ops = 0;
  /// gloo's: from the call until the thread that waits for it goes on.
  std::vector<KinetoSpan> receives;
  /// From the call on, and gloo's ranges of them.
  std::vector<KinetoSpan> sends;
  /// Passes within pipeloom.torch's ranges; on the host.
  std::vector<KinetoSpan> passes;
};

/// Process and thread, or device and stream, as the file has them.
using KinetoRowName = std::pair<std::string, std::string>;
using KinetoRows = std::map<KinetoRowName, KinetoRow>;

struct KinetoRecord {
  std::string path;
  /// distributedInfo's; kUnknown where it is not there.
  std::int32_t rank = kUnknown;
  std::int32_t world_size = kUnknown;
  std::int64_t base_ns = 0;
  /// schemaVersion or distributedInfo lead, as torch.profiler writes them.
  bool has_header = false;
  /// It says that the machine has a device, or that ranks talk over NCCL.
  bool names_device = false;
  bool is_mapped = false;
  /// A call or a kernel is in it.
  bool has_work = false;
  bool is_truncated = false;
  std::size_t num_damaged = 0;
  KinetoRows host;
  KinetoRows device;
  std::map<std::string, std::string> process_names;
  std::map<KinetoRowName, std::string> thread_names;
  /// The first few names of ranges that mean nothing here.
  std::vector<std::string> other_names;
};

/// Adds the ranks. An op begins when its message was there, as far as the record shows that. Throws InputError where no range is an op, and where nothing says which
/// rank a process is.
void add_kineto_ranks(const KinetoRecord& record, Trace& trace);

}  // namespace pipeloom::io

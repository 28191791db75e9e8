// Databases that Nsight Systems exports (nsys export --type sqlite): NVTX_EVENTS with start, end (nanoseconds), globalTid and a name, which is `text` or
// StringIds[textId]. Tables are there only where something was recorded. A process is globalTid / 2^24 % 2^24.
//
// A range of the host says when work was started. Where kernels were recorded too, an op lasts from the first to the last kernel that its process
// started in its range, on any thread (backward passes run on a thread of PyTorch's own), NCCL's left out: those wait for other ranks.
//
// Without a mapping the names are PyTorch's ("PP:0F3") and those of the zero-bubble schedules on Megatron-LM ("F3.1.0": microbatch, chunk, slice).

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/io/traces/byte_source.hpp"
#include "sim/io/traces/trace_readers.hpp"

namespace pipeloom::io {
namespace {

constexpr Ticks kTicksPerNsysNanosecond = 1000;
/// In nanoseconds: the farthest time of an honest profile, half of what ticks hold.
constexpr std::int64_t kFarthestNs = kMaxTicks / kTicksPerNsysNanosecond / 2;

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

/// A database that is read and never written.
class Database {
 public:
  explicit Database(const std::string& path) : path_(path) {
    if (is_packed(path))
      throw InputError(Where{path}, "a database is not read while it is packed; unpack it with gunzip");
    sqlite3* opened = nullptr;
    const int status = sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READONLY, nullptr);
    database_.reset(opened);
    if (status != SQLITE_OK) fail();
    sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, 1 << 24);
    // A file may bring triggers and views of its own; only its tables are wanted.
    sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(opened, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  }

  /// Calls fn(statement) for each row.
  template <class Fn>
  void each(const std::string& query, Fn&& fn) const {
    sqlite3_stmt* prepared = nullptr;
    if (sqlite3_prepare_v2(database_.get(), query.c_str(), -1, &prepared, nullptr) != SQLITE_OK) fail();
    const std::unique_ptr<sqlite3_stmt, FinalizeStatement> statement(prepared);
    int status = SQLITE_ROW;
    while ((status = sqlite3_step(prepared)) == SQLITE_ROW) fn(prepared);
    if (status != SQLITE_DONE) fail();
  }

  [[nodiscard]] bool has_table(std::string_view name) const {
    return has_name("SELECT name FROM sqlite_master WHERE type = 'table'", 0, name);
  }
  [[nodiscard]] bool has_column(const std::string& table, std::string_view name) const {
    return has_name("PRAGMA table_info(" + table + ")", 1, name);
  }

 private:
  /// True if a row of the answer has this name in the column.
  [[nodiscard]] bool has_name(const std::string& query, int column, std::string_view name) const {
    bool found = false;
    each(query, [&](sqlite3_stmt* row) {
      const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(row, column));
      found = found || (text != nullptr && name == text);
    });
    return found;
  }
  [[noreturn]] void fail() const {
    throw InputError(Where{path_},
                     fmt::format("the database cannot be read: {}; export it anew with `nsys export "
                                 "--type sqlite`",
                                 shortened(sqlite3_errmsg(database_.get()), 120)));
  }
  std::string path_;
  std::unique_ptr<sqlite3, CloseDatabase> database_;
};

/// An op as the host started it, and what of it ran on the device.
struct NsysRange {
  TraceOp op;
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::int64_t first_kernel = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_kernel = std::numeric_limits<std::int64_t>::min();
  [[nodiscard]] bool has_kernel() const { return first_kernel <= last_kernel; }
};

struct NsysProcess {
  std::vector<NsysRange> ranges;
  std::vector<NsysRange> steps;
  std::int32_t rank = kUnknown;
};

/// "F3.1.0" or "W3": microbatch, chunk and slice of a zero-bubble schedule, whose B may be a whole backward pass or its first half.
std::optional<TraceOp> zero_bubble_op(std::string_view name) {
  if (name.size() < 2 || name.size() > 40) return std::nullopt;
  TraceOp op;
  if (name[0] == 'F')
    op.kind = OpKind::Forward;
  else if (name[0] == 'B')
    op.kind = OpKind::Backward;
  else if (name[0] == 'W')
    op.kind = OpKind::BackwardWeight;
  else
    return std::nullopt;
  std::vector<std::int32_t> numbers;
  for (const std::string& part : split(name.substr(1), '.')) {
    const bool digits =
        !part.empty() && std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    const auto number = digits ? parse_fixed(part, 1) : std::nullopt;
    if (!number || number->value >= kMaxIndex) return std::nullopt;
    numbers.push_back(static_cast<std::int32_t>(number->value));
  }
  // Slices of a sequence have no place in a trace yet.
  if (numbers.size() > 3 || (numbers.size() == 3 && numbers[2] != 0)) return std::nullopt;
  op.microbatch = numbers[0];
  op.chunk = numbers.size() > 1 ? numbers[1] : 0;
  return op;
}

class NsysReader {
 public:
  NsysReader(const std::string& path, const RangeNames& names, Trace& trace)
      : path_(path), database_(path), names_(&names), trace_(&trace) {}

  void read() {
    if (!database_.has_table("NVTX_EVENTS"))
      throw InputError(Where{path_},
                       "the database has no ranges; record them with `nsys profile --trace=cuda,nvtx`");
    read_ranges();
    std::erase_if(processes_, [](const auto& process) { return process.second.ranges.empty(); });
    if (processes_.empty())
      throw InputError(Where{path_},
                       "no range of a pipeline among its NVTX ranges; for names of your own give "
                       "--mapping FILE, which the window opens as any file (docs/measured-runs.md)");
    for (auto& [pid, process] : processes_) sort(process);
    const bool on_device = read_kernels();
    add_ranks(on_device);
    if (num_damaged_ > 0)
      trace_->warnings.push_back(
          fmt::format("{}: {} ranges end before they start and were left out", path_, num_damaged_));
  }

 private:
  void read_ranges() {
    const bool has_strings =
        database_.has_table("StringIds") && database_.has_column("NVTX_EVENTS", "textId");
    const std::string name = has_strings ? "COALESCE(n.text, s.value)" : "n.text";
    const std::string strings = has_strings ? " LEFT JOIN StringIds s ON s.id = n.textId" : "";
    // 59 is a pushed and popped range, 60 a started and ended one.
    database_.each("SELECT n.start, n.end, n.globalTid / 16777216 % 16777216, " + name +
                       " FROM NVTX_EVENTS n" + strings +
                       " WHERE n.eventType IN (59, 60) AND n.end IS NOT NULL",
                   [this](sqlite3_stmt* row) { add_range(row); });
  }

  void add_range(sqlite3_stmt* row) {
    const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(row, 3));
    if (text == nullptr) return;
    const std::string_view name(text, static_cast<std::size_t>(sqlite3_column_bytes(row, 3)));
    NsysRange range;
    range.start = time(row, 0);
    range.end = time(row, 1);
    if (range.end < range.start) {
      ++num_damaged_;
      return;
    }
    NsysProcess& process = processes_[sqlite3_column_int64(row, 2)];
    if (const auto meaning = names_->meaning(name)) {
      if (meaning->rank != kUnknown) process.rank = meaning->rank;
      for (const TraceOp& op : meaning->ops) {
        range.op = op;
        process.ranges.push_back(range);
      }
      if (!meaning->step) return;
      range.op.step = *meaning->step;
      process.steps.push_back(range);
    } else if (const auto op = names_->is_mapped() ? std::nullopt : zero_bubble_op(name)) {
      range.op = *op;
      process.ranges.push_back(range);
      process_is_zero_bubble_ = true;
    }
  }

  [[nodiscard]] std::int64_t time(sqlite3_stmt* row, int column) const {
    const std::int64_t time = sqlite3_column_int64(row, column);
    if (time > -kFarthestNs && time < kFarthestNs) return time;
    throw InputError(Where{path_}, "a range lies years from the start of its profile; export it anew");
  }

  void sort(NsysProcess& process) const {
    const auto by_start = [](const NsysRange& a, const NsysRange& b) { return a.start < b.start; };
    std::stable_sort(process.ranges.begin(), process.ranges.end(), by_start);
    std::stable_sort(process.steps.begin(), process.steps.end(), by_start);
    const bool has_weights =
        process_is_zero_bubble_ &&
        std::any_of(process.ranges.begin(), process.ranges.end(),
                    [](const NsysRange& range) { return range.op.kind == OpKind::BackwardWeight; });
    for (NsysRange& range : process.ranges)
      if (has_weights && range.op.kind == OpKind::Backward) range.op.kind = OpKind::BackwardInput;
    for (NsysRange& range : process.ranges) {
      const auto after = std::upper_bound(process.steps.begin(), process.steps.end(), range, by_start);
      if (after != process.steps.begin() && range.start <= std::prev(after)->end && range.op.step == kUnknown)
        range.op.step = std::prev(after)->op.step;
    }
  }

  /// False if none was recorded.
  bool read_kernels() {
    if (!database_.has_table("CUPTI_ACTIVITY_KIND_KERNEL") ||
        !database_.has_table("CUPTI_ACTIVITY_KIND_RUNTIME") || !database_.has_table("StringIds"))
      return false;
    bool found = false;
    database_.each(
        "SELECT r.globalTid / 16777216 % 16777216, r.start, k.start, k.end FROM CUPTI_ACTIVITY_KIND_KERNEL k "
        "JOIN "
        "CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId AND r.globalTid / 16777216 % "
        "16777216 = "
        "k.globalPid / 16777216 % 16777216 LEFT JOIN StringIds s ON s.id = k.shortName WHERE s.value IS NULL "
        "OR "
        "s.value NOT LIKE 'nccl%'",
        [&](sqlite3_stmt* row) { found = add_kernel(row) || found; });
    return found;
  }

  bool add_kernel(sqlite3_stmt* row) {
    const auto process = processes_.find(sqlite3_column_int64(row, 0));
    if (process == processes_.end()) return false;
    NsysRange started;
    started.start = time(row, 1);
    auto& ranges = process->second.ranges;
    const auto after =
        std::upper_bound(ranges.begin(), ranges.end(), started,
                         [](const NsysRange& a, const NsysRange& b) { return a.start < b.start; });
    if (after == ranges.begin() || std::prev(after)->end < started.start) return false;
    // Both ops of an overlapped pair have the same range.
    const std::int64_t begin = std::prev(after)->start;
    for (auto range = std::prev(after); range->start == begin; --range) {
      range->first_kernel = std::min(range->first_kernel, time(row, 2));
      range->last_kernel = std::max(range->last_kernel, time(row, 3));
      if (range == ranges.begin()) break;
    }
    return true;
  }

  void add_ranks(bool on_device) {
    const auto named = number_in_name(path_, "rank");
    auto next = static_cast<std::int32_t>(trace_->ranks.size());
    if (processes_.size() > 1)
      trace_->warnings.push_back(
          fmt::format("{}: {} processes, taken for ranks from {} on in order of their numbers",
                      shortened(path_, 200), processes_.size(), next));
    for (const auto& [pid, process] : processes_) {
      const bool alone = named && processes_.size() == 1;
      const std::int32_t rank = process.rank != kUnknown ? process.rank : alone ? *named : next++;
      RankTrace& added = add_rank(*trace_, rank, path_);
      added.times_of = on_device ? TimesOf::Device : TimesOf::HostOfDevice;
      add_ops(process, added, on_device);
    }
  }

  /// An op that started no kernel takes no time, behind the op before it.
  static void add_ops(const NsysProcess& process, RankTrace& rank, bool on_device) {
    std::int64_t last = process.ranges.front().start;
    for (const NsysRange& range : process.ranges) {
      TraceOp op = range.op;
      const bool kernels = on_device && range.has_kernel();
      const std::int64_t start = kernels ? range.first_kernel : on_device ? last : range.start;
      last = kernels ? range.last_kernel : on_device ? last : range.end;
      op.start = start * kTicksPerNsysNanosecond;
      op.end = last * kTicksPerNsysNanosecond;
      rank.ops.push_back(op);
    }
  }

  std::string path_;
  Database database_;
  const RangeNames* names_;
  Trace* trace_;
  std::map<std::int64_t, NsysProcess> processes_;
  bool process_is_zero_bubble_ = false;
  std::size_t num_damaged_ = 0;
};

}  // namespace

void read_nsys(const std::string& path, const RangeNames& names, Trace& trace) {
  NsysReader(path, names, trace).read();
}

}  // namespace pipeloom::io

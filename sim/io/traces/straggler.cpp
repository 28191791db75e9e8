// The straggler data sets of ByteDance (StragglerAnalysis), as scripts/straggler_to_csv.py writes them from Parquet: a line per op that a worker ran,
// times in seconds, with the columns dp_rank, stage (of the rank), rank (among all), step, optype, start_ts, duration, seq_id, mc (chunk), gmc (stage
// of the model), mb_id. Columns may stand in any order, others are passed over, and of these stage, step, optype, start_ts and duration must be there.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/io/traces/byte_source.hpp"
#include "sim/io/traces/trace_readers.hpp"

namespace pipeloom::io {
namespace {

constexpr std::size_t kLineBlock = std::size_t{1} << 16;
constexpr std::size_t kLongestLine = std::size_t{1} << 14;

enum Column : std::uint8_t {
  DpRank,
  StageOfRank,
  Worker,
  Step,
  OpType,
  Start,
  Duration,
  SeqId,
  Chunk,
  StageOfModel,
  MicrobatchId
};
constexpr std::array<std::string_view, 11> kColumns = {
    "dp_rank", "stage", "rank", "step", "optype", "start_ts", "duration", "seq_id", "mc", "gmc", "mb_id"};
constexpr std::array<Column, 5> kNeededColumns = {StageOfRank, Step, OpType, Start, Duration};

/// Lines of a file, the last one without its end too.
class LineReader {
 public:
  explicit LineReader(ByteSource& source) : source_(&source), buffer_(kLineBlock) {}

  /// False at the end. Throws InputError for a line longer than any of such a file.
  bool next(std::string& line) {
    line.clear();
    ++number_;
    while (true) {
      const auto* const begin = buffer_.data() + at_;
      const auto* const end = buffer_.data() + end_;
      const auto* const stop = std::find(begin, end, '\n');
      line.append(begin, stop);
      at_ = static_cast<std::size_t>(stop - buffer_.data());
      if (line.size() > kLongestLine)
        throw InputError(Where{source_->path(), number_, 1}, "the line is too long for a table of ops");
      if (stop != end) {
        ++at_;
        break;
      }
      at_ = 0;
      end_ = source_->read(std::span<char>(buffer_));
      if (end_ == 0) {
        has_cut_line_ = has_cut_line_ || !line.empty();
        break;
      }
    }
    if (line.ends_with('\r')) line.pop_back();
    return !line.empty() || end_ != 0;
  }
  [[nodiscard]] int number() const { return number_; }
  /// The last line had no end: what wrote it may have been stopped, and half a number would be another number.
  [[nodiscard]] bool has_cut_line() const { return has_cut_line_; }

 private:
  ByteSource* source_;
  std::vector<char> buffer_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  int number_ = 0;
  bool has_cut_line_ = false;
};

/// What a type of op is: of computations the kind, of messages the side.
struct StragglerType {
  std::string_view name;
  bool is_message;
  OpKind kind;
  bool is_gradient;
  bool is_receive;
};
constexpr std::array<StragglerType, 7> kTypes = {{
    {"forward-compute", false, OpKind::Forward, false, false},
    {"backward-compute", false, OpKind::Backward, false, false},
    {"backward-wgrad-compute", false, OpKind::BackwardWeight, false, false},
    {"forward-send", true, OpKind::Forward, false, false},
    {"forward-recv", true, OpKind::Forward, false, true},
    {"backward-send", true, OpKind::Forward, true, false},
    {"backward-recv", true, OpKind::Forward, true, true},
}};

class StragglerReader {
 public:
  StragglerReader(std::string path, Trace& trace) : path_(std::move(path)), trace_(&trace) {}

  void read() {
    ByteSource source(path_);
    LineReader lines(source);
    std::string line;
    if (lines.next(line)) read_header(line);
    while (lines.next(line)) {
      line_ = lines.number();
      if (lines.has_cut_line() || line.empty()) continue;
      read_row(split(line, ','));
    }
    finish(lines.has_cut_line() || source.is_cut());
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw InputError(Where{path_, line_, 1}, what); }

  void read_header(const std::string& line) {
    const auto names = split(line, ',');
    width_ = names.size();
    column_.fill(width_);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto* const found = std::find(kColumns.begin(), kColumns.end(), trimmed(names[i]));
      if (found != kColumns.end()) column_[static_cast<std::size_t>(found - kColumns.begin())] = i;
    }
    for (const Column needed : kNeededColumns)
      if (column_[needed] == width_)
        fail(fmt::format(
            "there is no column {}; a table of ops has stage, step, optype, start_ts and duration",
            kColumns[needed]));
  }

  [[nodiscard]] std::string_view text(const std::vector<std::string>& fields, Column column) const {
    return column_[column] == width_ ? std::string_view() : trimmed(fields[column_[column]]);
  }

  /// A number of a row; kUnknown where it is missing. Parquet's missing numbers make all of their column decimal: "3.0".
  [[nodiscard]] std::int32_t index(const std::vector<std::string>& fields, Column column) const {
    const std::string_view field = text(fields, column);
    if (field.empty() || field == "nan" || field == "None") return kUnknown;
    const auto number = parse_fixed(field, 1);
    if (!number || number->rounded || number->value < kUnknown || number->value >= kMaxIndex)
      fail(fmt::format("{} is '{}'; it is a whole number from 0 to {}", kColumns[column],
                       shortened(field, 40), kMaxIndex - 1));
    return static_cast<std::int32_t>(number->value);
  }

  [[nodiscard]] Ticks seconds(const std::vector<std::string>& fields, Column column) const {
    const auto time = parse_ticks(text(fields, column), TimeUnit::Second);
    if (!time)
      fail(fmt::format(
          "{} is '{}', no time in seconds that can be read; times count from the start of the run or "
          "step",
          kColumns[column], shortened(text(fields, column), 40)));
    return time->value;
  }

  void read_row(const std::vector<std::string>& fields) {
    if (fields.size() != width_)
      fail(fmt::format("{} fields, but the first line has {}; a field has no comma", fields.size(), width_));
    const std::string_view name = text(fields, OpType);
    const auto* const type = std::find_if(kTypes.begin(), kTypes.end(),
                                          [name](const StragglerType& known) { return known.name == name; });
    if (type == kTypes.end()) return;  // a collective, the optimizer
    const std::int32_t stage = index(fields, StageOfRank);
    if (stage == kUnknown) fail("stage is missing; it says which rank of the pipeline ran the op");
    RankTrace& rank = rank_of(fields, stage);
    const Ticks start = seconds(fields, Start);
    const Ticks duration = seconds(fields, Duration);
    if (duration < 0)
      fail(fmt::format("duration is '{}'; it is 0 at least", shortened(text(fields, Duration), 40)));
    const std::int32_t of_model = index(fields, StageOfModel);
    const std::int32_t step = index(fields, Step);
    const std::int32_t chunk = index(fields, Chunk);
    has_chunks_ = has_chunks_ || chunk > 0;
    std::int32_t microbatch = index(fields, MicrobatchId);
    if (type->is_message) {
      if (microbatch == kUnknown) microbatch = index(fields, SeqId);
      rank.messages.push_back({.stage = of_model == kUnknown ? stage : of_model,
                               .microbatch = microbatch,
                               .step = step,
                               .is_gradient = type->is_gradient,
                               .is_receive = type->is_receive,
                               .start = start,
                               .end = start + duration});
      return;
    }
    rank.ops.push_back({.kind = type->kind,
                        .stage = of_model,
                        .chunk = chunk == kUnknown ? 0 : chunk,
                        .microbatch = microbatch,
                        .step = step,
                        .start = start,
                        .end = start + duration});
  }

  /// Workers of one pipeline differ in their stage, copies of the pipeline in dp_rank.
  RankTrace& rank_of(const std::vector<std::string>& fields, std::int32_t stage) {
    const auto at =
        ranks_
            .emplace(std::pair(std::max(index(fields, DpRank), 0), std::pair(stage, index(fields, Worker))),
                     RankTrace())
            .first;
    return at->second;
  }

  /// The first pipeline: one worker of each stage, in order. Steps restart their clocks where one begins before the one before has ended.
  void finish(bool is_truncated) {
    if (ranks_.empty()) fail("the table has no forward-compute or backward-compute");
    const std::int32_t first = ranks_.begin()->first.first;
    std::size_t left_out = 0;
    std::int32_t last_stage = kUnknown;
    for (auto& [worker, rank] : ranks_) {
      const auto& [dp_rank, place] = worker;
      if (dp_rank != first || place.first == last_stage) {
        ++left_out;
        continue;
      }
      last_stage = place.first;
      RankTrace& added = add_rank(*trace_, place.first, path_);
      added.is_truncated = is_truncated;
      // A message's place in the order says its microbatch only where ranks have one chunk.
      if (has_chunks_)
        for (TraceMessage& message : rank.messages) message.microbatch = kUnknown;
      added.ops = std::move(rank.ops);
      added.messages = std::move(rank.messages);
    }
    if (left_out > 0)
      trace_->warnings.push_back(
          fmt::format("{}: {} workers beside the first of each stage left out, as copies of it",
                      shortened(path_, 200), left_out));
    trace_->has_step_clocks = trace_->has_step_clocks || restarts();
  }

  [[nodiscard]] bool restarts() const {
    std::map<std::int32_t, std::pair<Ticks, Ticks>> spans;
    for (const RankTrace& rank : trace_->ranks)
      for (const TraceOp& op : rank.ops) {
        const auto at = spans.emplace(op.step, std::pair(op.start, op.end)).first;
        at->second.first = std::min(at->second.first, op.start);
        at->second.second = std::max(at->second.second, op.end);
      }
    Ticks end = -kMaxTicks;
    for (const auto& [step, span] : spans) {
      if (span.first < end) return true;
      end = span.second;
    }
    return false;
  }

  std::string path_;
  Trace* trace_;
  std::array<std::size_t, kColumns.size()> column_{};
  std::size_t width_ = 0;
  int line_ = 1;
  bool has_chunks_ = false;
  std::map<std::pair<std::int32_t, std::pair<std::int32_t, std::int32_t>>, RankTrace> ranks_;
};

bool is_straggler(std::string_view beginning, std::string_view) {
  const std::string_view line = beginning.substr(0, beginning.find('\n'));
  const auto has = [line](std::string_view word) { return line.find(word) != std::string_view::npos; };
  return !line.starts_with('{') && has("optype") && has("start_ts") && has("duration") && has("stage");
}

}  // namespace

TraceFormat straggler_format() {
  return {.name = "straggler",
          .summary = "table of ops of the straggler data sets, by scripts/straggler_to_csv.py",
          .sniff = is_straggler,
          .read = [](const std::string& path, const RangeNames&, Trace& trace) {
            StragglerReader(path, trace).read();
          }};
}

}  // namespace pipeloom::io

// Pipeloom's own Chrome traces, as sim/io/formats/chrome_trace.hpp writes them: {"otherData": {"time_unit": "ms"}, "traceEvents": [...]}. An op is a
// complete event ("ph": "X") whose name is the op, whose pid is its rank, and whose args say its step and, in that unit, its exact start and end. Names of
// processes, arrows and counters are for viewers and are passed over.
//
// Ranks stand one behind the other, so that nothing tells a file that was cut between two of them from a run of fewer ranks: a file that ends
// early is refused.

#include <fmt/format.h>

#include <map>
#include <optional>
#include <utility>

#include <pipeloom/error.hpp>
#include <pipeloom/op.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/io/json/json_value.hpp"
#include "sim/io/traces/json_scanner.hpp"
#include "sim/io/traces/trace_readers.hpp"

namespace pipeloom::io {
namespace {

class ChromeReader {
 public:
  ChromeReader(const std::string& path, Trace& trace) : path_(path), trace_(&trace) {}

  void read() {
    ByteSource source(path_);
    JsonScanner json(source);
    if (!json.enter('{')) fail("no object with traceEvents; write it anew with `pipeloom convert`");
    std::string key;
    while (json.next_key(key)) {
      if (key == "traceEvents" && json.enter('['))
        read_events(json);
      else if (key == "otherData")
        read_unit(json.take_value());
      else
        json.skip_value();
    }
    if (json.is_truncated())
      fail("the file ends before its text does, and what is missing may be whole ranks; copy it again");
    finish();
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw InputError(Where{path_}, what); }

  void read_unit(std::string_view text) {
    const auto data = read_json(text);
    const Value* const unit = data ? data->find("time_unit") : nullptr;
    if (unit == nullptr) return;
    unit_ = time_unit_named(unit->text());
    if (!unit_)
      fail(fmt::format("time_unit is {}; it is unit, s, ms, us or ns", shortened(unit->described(), 60)));
  }

  void read_events(JsonScanner& json) {
    if (!unit_)
      fail(
          "no otherData with time_unit stands before the events; a trace that `pipeloom convert` has written "
          "has it");
    while (json.next_element()) {
      const std::string_view text = json.take_value();
      if (text.empty()) continue;
      const auto event = read_json(text);
      if (!event) fail(fmt::format("'{}' is no event; the file is damaged", shortened(text, 40)));
      read_event(*event);
    }
  }

  void read_event(const Value& event) {
    const Value* const phase = event.find("ph");
    const Value* const name = event.find("name");
    const Value* const args = event.find("args");
    if (phase == nullptr || name == nullptr || args == nullptr || phase->text() != "X") return;
    const auto op = parse_op(name->text());
    const Value* const start = args->find("start");
    const Value* const end = args->find("end");
    if (!op || start == nullptr || end == nullptr) return;  // a range of somebody else's
    TraceOp read{.kind = op->kind(),
                 .stage = op->stage().value(),
                 .microbatch = op->microbatch().value(),
                 .slice = op->is_sliced() ? op->slice() : kUnknown,
                 .step = index(args->find("step"), "step"),
                 .start = trace_time(start->text(), *unit_, path_),
                 .end = trace_time(end->text(), *unit_, path_)};
    if (read.end < read.start)
      fail(fmt::format("{} ends before it starts; the file is damaged", name->text()));
    ranks_[index(event.find("pid"), "pid")].push_back(read);
  }

  [[nodiscard]] std::int32_t index(const Value* value, std::string_view what) const {
    const auto number =
        value != nullptr && value->is(ValueKind::Number) ? parse_fixed(value->text(), 1) : std::nullopt;
    if (!number || number->rounded || number->value < 0 || number->value >= kMaxIndex)
      fail(fmt::format("an op has no {} from 0 to {}; the file is damaged", what, kMaxIndex - 1));
    return static_cast<std::int32_t>(number->value);
  }

  void finish() {
    if (ranks_.empty())
      fail("no op is among its events; a Chrome trace that `pipeloom convert` has written has them");
    trace_->unit = *unit_;
    for (auto& [rank, ops] : ranks_) {
      add_rank(*trace_, rank, path_).ops = std::move(ops);
      trace_->expected_ranks = std::max(trace_->expected_ranks, rank + 1);
    }
  }

  const std::string& path_;
  Trace* trace_;
  std::optional<TimeUnit> unit_;
  std::map<std::int32_t, std::vector<TraceOp>> ranks_;
};

}  // namespace

TraceFormat chrome_trace_format() {
  return {.name = "chrome",
          .summary = "Chrome trace that convert has written",
          .sniff =
              [](std::string_view text, std::string_view) {
                const auto has = [text](std::string_view word) {
                  return text.find(word) != std::string_view::npos;
                };
                return has("\"traceEvents\"") && has("\"otherData\"") && has("\"time_unit\"");
              },
          .read = [](const std::string& path, const RangeNames&,
                     Trace& trace) { ChromeReader(path, trace).read(); }};
}

}  // namespace pipeloom::io

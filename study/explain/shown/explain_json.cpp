#include "study/explain/shown/explain_json.hpp"

#include <array>
#include <cmath>

#include "sim/kinds.hpp"

namespace pipeloom::study::explain {
namespace {

template <class Number>
void write_index(io::JsonWriter& out, std::string_view name, const std::optional<Number>& index) {
  if (index) out.member(name, index->value());
}

void write_cause(io::JsonWriter& out, const Cause& cause, TimeUnit unit) {
  out.object().member("kind", name_of(cause.kind));
  write_index(out, "rank", cause.rank);
  write_index(out, "stage", cause.stage);
  write_index(out, "microbatch", cause.microbatch);
  if (cause.op_kind) out.member("op_kind", std::string(1, letter_of(*cause.op_kind)));
  write_index(out, "from", cause.from);
  write_index(out, "to", cause.to);
  if (cause.kind == CauseKind::Link) out.member("both_ways", cause.both_ways);
  if (!cause.ops.empty()) {
    out.key("ops").array();
    for (const Op op : cause.ops) out.quoted(op);
    out.close();
  }
  if (!cause.ranks.empty()) {
    out.key("ranks").array();
    for (const Rank rank : cause.ranks) out.value(rank.value());
    out.close();
  }
  if (cause.factor) out.member("factor", *cause.factor);
  if (cause.added) out.key("added").ticks(*cause.added, unit);
  out.key("amount").ticks(cause.amount, unit).key("sd").ticks(std::llround(cause.sd), unit);
  if (cause.kind != CauseKind::Noise && cause.kind != CauseKind::Unexplained)
    out.key("alone").ticks(cause.alone, unit).key("if_fixed").ticks(cause.if_fixed, unit);
  out.member("equivalent", cause.equivalent).member("text", cause.text).close();
}

void write_causes(io::JsonWriter& out, std::string_view name, const std::vector<Cause>& causes, TimeUnit unit,
                  int blanks) {
  out.line(blanks).key(name).array();
  for (const Cause& cause : causes) write_cause(out.line(blanks + 2), cause, unit);
  out.close(blanks);
}

void write_share(io::JsonWriter& out, std::string_view name, const StragglerShare& share) {
  out.key(name).object().key("ranks").array();
  for (const Rank rank : share.ranks) out.value(rank.value());
  out.close().member("removed", share.removed).member("added", share.added).close();
}

void write_stragglers(io::JsonWriter& out, const Stragglers& found) {
  out.key("stragglers").object().member("slowdown", found.slowdown);
  write_share(out, "m_w", found.workers);
  write_share(out, "m_s", found.last_stage);
  out.close();
}

}  // namespace

void write_explanation(io::JsonWriter& out, const Explanation& explanation, std::string_view transfer_model,
                       int blanks) {
  const TimeUnit unit = explanation.unit;
  out.object().line(blanks).member("schema_version", 1).line(blanks).member("time_unit", name_of(unit));
  out.line(blanks).key("predicted").ticks(explanation.predicted, unit);
  out.key("measured").ticks(explanation.measured, unit);
  out.key("difference").ticks(explanation.measured - explanation.predicted, unit);
  out.line(blanks).member("steps", explanation.steps).member("transfer_model", transfer_model);
  out.member("noise_sigma", explanation.sigma).member("cost_sigma", explanation.cost_sigma);
  write_causes(out, "causes", explanation.causes, unit, blanks);
  write_causes(out, "hidden", explanation.hidden, unit, blanks);
  if (explanation.stragglers) write_stragglers(out.line(blanks), *explanation.stragglers);
  out.line(blanks).key("clock_offsets").array();
  if (explanation.clocks_apart)
    for (const Ticks offset : explanation.clock_offset) out.ticks(offset, unit);
  out.close().line(blanks).member("warnings", explanation.warnings).close(blanks - 2);
}

std::string explanation_json(const Explanation& explanation, std::string_view transfer_model) {
  const auto write = [&](io::JsonWriter& out) { write_explanation(out, explanation, transfer_model, 2); };
  return io::written_json(io::kReportStyle, write) + "\n";
}

}  // namespace pipeloom::study::explain

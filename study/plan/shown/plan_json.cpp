#include <sstream>

#include "sim/io/config/effective_config.hpp"
#include "sim/io/json/json_writer.hpp"
#include "sim/io/json/text_writer.hpp"
#include "sim/kinds.hpp"
#include "sim/text.hpp"
#include "study/plan/ranking.hpp"
#include "study/plan/shown/plan_facts.hpp"
#include "study/plan/shown/plan_shown.hpp"

namespace pipeloom::study {
namespace {

constexpr int kIndent = 6;

template <class Number>
void member_or_null(io::JsonWriter& out, std::string_view key, const std::optional<Number>& number) {
  out.key(key);
  if (number)
    out.number(*number);
  else
    out.null();
}

void write_orders(io::JsonWriter& out, const Schedule& schedule) {
  out.line(kIndent).key("orders").array();
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    out.line(kIndent + 2).array();
    for_each_written_entry(
        schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
        [&](std::size_t first, std::size_t last) { out.text(entry_text(schedule, first, last)); });
    out.close();
  }
  out.close(kIndent);
}

void write_config(io::JsonWriter& out, const io::Config& config) {
  out.line(kIndent).key("config").object();
  for (const auto& [key, value] : io::stated_keys(config)) out.key(key).raw(value);
  out.close();
}

using MoreMembers = std::function<void(io::JsonWriter& out)>;

void write_candidate(io::JsonWriter& out, const PlanCandidate& candidate, bool orders,
                     const MoreMembers& more = {}) {
  const TimeUnit unit = candidate.run.timeline.unit;
  out.object()
      .member("name", candidate.name)
      .member("schedule", candidate.schedule)
      .member("chunks", candidate.chunks);
  out.key("layers").array();
  for (const int layers : candidate.layers) out.number(layers);
  out.close().member("placement", candidate.placement);
  out.line(kIndent).key("step_time").ticks(candidate.step_time, unit);
  out.key("makespan")
      .ticks(candidate.makespan, unit)
      .key(name_of(PlanObjective::MaxWindow))
      .ticks(candidate.window, unit)
      .key("p95");
  if (candidate.p95)
    out.ticks(*candidate.p95, unit);
  else
    out.null();
  member_or_null(out, "tokens_per_s", candidate.tokens_per_s);
  member_or_null(out, "change", candidate.change);
  out.key("bubble_ratio").number(candidate.bubble_ratio);
  out.line(kIndent).key("peak_bytes").array();
  for (const Bytes peak : candidate.peaks) out.number(candidate.said(peak));
  out.close();
  out.line(kIndent)
      .key("lower_bound")
      .ticks(candidate.bound.value, unit)
      .member("bound", candidate.bound.name);
  out.key("gap").number(candidate.gap).member("proven", candidate.proven);
  if (more) more(out.line(kIndent));
  write_config(out, candidate.config);
  if (orders) write_orders(out, *candidate.queues());
  out.close(4);
}

void write_lists(io::JsonWriter& out, const Plan& plan) {
  out.line(2).key("rejected").array();
  for (const PlanRejected& rejected : plan.rejected)
    out.line(4)
        .object()
        .member("name", rejected.name)
        .member("reason", name_of(rejected.refusal))
        .member("why", rejected.why)
        .close();
  out.close(2);
  out.line(2).key("pareto").array();
  for (const std::size_t i : plan.pareto) {
    const PlanCandidate& candidate = plan.candidates[i];
    out.line(4).object().key("step_time").ticks(candidate.step_time, candidate.run.timeline.unit);
    out.key("peak_bytes").number(candidate.peak).member("name", candidate.name).close();
  }
  out.close(2);
  out.line(2).key("advice").array();
  for (const PlanAdvice& advice : plan.advice)
    out.line(4).object().member("text", advice.text).key("saves").number(advice.saves).close();
  out.close(2);
}

}  // namespace

std::string plan_json(const Plan& plan, std::size_t top, bool orders, const PlanMembers& more) {
  std::ostringstream text;
  {
    io::TextWriter writer(text);
    io::JsonWriter out(writer);
    out.object().line(2).member("schema_version", 1).line(2).member("objective", name_of(plan.objective));
    const PlanCandidate* any = plan.baseline             ? &*plan.baseline
                               : plan.candidates.empty() ? nullptr
                                                         : &plan.candidates.front();
    out.line(2).member("time_unit", any == nullptr ? "unit" : name_of(any->run.timeline.unit));
    out.line(2).key("seconds").number(plan.seconds).line(2).member("seed", plan.seed);
    out.line(2).key("headroom").number(plan.room.headroom).line(2).key("workload");
    write_facts(out, plan);
    out.line(2).key("compared_with");
    if (const PlanCandidate* other = compared_with(plan))
      out.text(other->name);
    else
      out.null();
    out.line(2).key("baseline");
    if (plan.baseline)
      write_candidate(out, *plan.baseline, orders);
    else
      out.null();
    out.line(2).key("candidates").array();
    for (std::size_t i = 0; i < std::min(top, plan.candidates.size()); ++i) {
      out.line(4);
      const MoreMembers of_this =
          more.of_candidate ? MoreMembers([&, i](auto& to) { more.of_candidate(to, i); }) : MoreMembers();
      write_candidate(out, plan.candidates[i], orders, of_this);
    }
    out.close(2);
    if (more.of_plan) more.of_plan(out.line(2));
    write_lists(out, plan);
    write_to_run(out, plan.to_run);
    write_not_taken(out, plan.not_taken);
    out.close(0);
    writer << '\n';
    writer.flush();
  }
  return text.str();
}

}  // namespace pipeloom::study

#include "gui/model/panels/details.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>

#include <pipeloom/metrics.hpp>
#include "gui/model/chart/chart_words.hpp"
#include "gui/model/chart/select.hpp"
#include "gui/model/run/build_run.hpp"
#include "sim/io/config/effective_config.hpp"
#include "sim/kinds.hpp"
#include "sim/memory.hpp"
#include "sim/text.hpp"

namespace pipeloom::gui {
namespace {

std::string time_text(const RunModel& run, Ticks ticks) {
  const TimeUnit unit = run.timeline.unit;
  const std::string text = format_ticks(ticks, unit);
  return unit == TimeUnit::Unit ? text : fmt::format("{} {}", text, name_of(unit));
}

/// "default", "derived: backward - backward_weight", "given in x.json".
std::string origin_of(const RunModel& run, std::string_view key) {
  for (const auto& [path, origin] : run.effective->origins)
    if (path == key) return origin;
  return run.file.empty() ? "given" : "given in " + run.file;
}

/// Index of the op's stage among those of its rank; "" where the rank has one stage.
std::string chunk_text(const Schedule& schedule, Op op) {
  const Slot slot = schedule.slot_of(op);
  const auto slots = schedule.placement().slots_of(schedule.placement().rank_of(slot));
  const auto at = std::find(slots.begin(), slots.end(), slot);
  return slots.size() < 2 ? "" : fmt::format("{}", at - slots.begin());
}

DetailLine line_of(const RunModel& run, const Neighbour& neighbour, std::string_view what) {
  return {fmt::format("{} on rank {}", to_text(op_at(run, neighbour.position)),
                      rank_at(run, neighbour.position).value()),
          fmt::format("{}, {} {}", name_of(neighbour.link), what, time_text(run, neighbour.arrival)),
          OpRef{run.id, neighbour.position}, neighbour.binding};
}

/// The most ops in a chain: for an op, the nearest that led to it; for a gap, those that fill it.
constexpr std::size_t kMostBehindOp = 4;
constexpr std::size_t kMostBehindGap = 1000;

/// "7", "7.3" for a slice.
std::string number_text(Op op) {
  char text[kMaxOpText];
  return {text, write_op_number(text, op)};
}

std::string story_name(const RunModel& run, std::size_t position) {
  const Op op = op_at(run, position);
  return fmt::format("{} {} of stage {}", letter_of(op.kind()), number_text(op), op.stage().value());
}

std::string span_text(const RunModel& run, Ticks start, Ticks end) {
  const TimeUnit unit = run.timeline.unit;
  return fmt::format("{}, {} to {}", duration_text(end - start, unit), duration_text(start, unit),
                     duration_text(end, unit));
}

/// From `position` back along the ops that held each other up, while they end after `since`; at most `most` ops.
std::vector<std::size_t> chain_from(const RunModel& run, const OpWalk& walk, std::size_t position,
                                    Ticks since, std::size_t most) {
  std::vector<std::size_t> chain;
  while (position != OpWalk::kNone && run.timeline.end[position] > since && chain.size() < most) {
    chain.push_back(position);
    position = walk.back(run, position);
  }
  return chain;
}

/// All of a short chain, both ends of a long one.
std::vector<ChainLine> chain_lines(const RunModel& run, const std::vector<std::size_t>& chain) {
  std::vector<ChainLine> lines;
  const std::size_t left_out = chain.size() > kMostInChain ? chain.size() - kMostInChain + 1 : 0;
  const std::size_t first = left_out == 0 ? chain.size() : (kMostInChain - 1) / 2;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (i == first) {
      lines.push_back({OpKind::Forward, fmt::format("{} more", left_out), "", {}});
      i += left_out;
    }
    const std::size_t at = chain[i];
    lines.push_back({op_at(run, at).kind(), story_name(run, at),
                     "ends " + duration_text(run.timeline.end[at], run.timeline.unit), OpRef{run.id, at}});
  }
  return lines;
}

/// The neighbour that the op waited for last; where its rank was free no sooner, that itself.
std::optional<Neighbour> held_up_by(const RunModel& run, const OpWalk& walk, std::size_t position) {
  const std::vector<Neighbour> all = walk.predecessors(run, position);
  const auto binding = std::find_if(all.begin(), all.end(), [](const Neighbour& one) { return one.binding; });
  if (binding == all.end()) return std::nullopt;
  const auto rank = std::find_if(all.begin(), all.end(), [&](const Neighbour& one) {
    return one.link == DependencyKind::Queue && one.arrival == binding->arrival;
  });
  return rank == all.end() ? *binding : *rank;
}

/// Says which op this op waited for last, and how long it was ready before that.
std::string op_sentence(const RunModel& run, const OpWalk& walk, std::size_t position,
                        const OpExtras& extras) {
  std::string text = "Waits for nothing.";
  if (const auto one = held_up_by(run, walk, position)) {
    const Ticks waited = run.timeline.start[position] - one->arrival;
    const std::string who = story_name(run, one->position);
    text = one->link == DependencyKind::Queue
               ? fmt::format("Starts when its rank is through with {}.", who)
               : fmt::format("Starts when the {} of {} is there, at {}.", name_of(one->link), who,
                             duration_text(one->arrival, run.timeline.unit));
    if (waited > 0)
      text += fmt::format(" Its rank is busy for {} more.", duration_text(waited, run.timeline.unit));
  }
  if (extras.slack)
    text += *extras.slack == 0 ? " On the critical path: the step ends later with it."
                               : fmt::format(" It may start {} later without delaying the step.",
                                             duration_text(*extras.slack, run.timeline.unit));
  return text;
}

void write_names(io::JsonWriter& out, const Session& session, const std::vector<DetailLine>& lines) {
  out.array();
  for (const DetailLine& line : lines)
    if (const OpenRun* open = line.op ? session.find_run(line.op->run) : nullptr)
      out.text(op_name(*open->run, line.op->op));
  out.close();
}

/// Names what makes a table's duration another one than the key gives: "costs.exceptions makes", "costs.stage_scale and costs.rank_scale make".
std::string changed_by(const cost::CostSpec& costs, OpKind kind, Stage stage, Rank rank) {
  const auto names = [](const auto& index, auto value) { return !index || *index == value; };
  const auto excepts = [&](const cost::CostRow& row) {
    return !row.of_group && !row.microbatch && !row.slice && names(row.kind, kind) &&
           names(row.stage, stage.value()) && names(row.rank, rank.value());
  };
  const auto is_given = [](const cost::ScaleSpec& scale) { return !scale.array.empty() || scale.table; };
  std::vector<std::string_view> keys;
  if (costs.exceptions && std::ranges::any_of(*costs.exceptions, excepts))
    keys.emplace_back("costs.exceptions");
  if (is_given(costs.stage_scale)) keys.emplace_back("costs.stage_scale");
  if (is_given(costs.rank_scale)) keys.emplace_back("costs.rank_scale");
  return fmt::format("{} {}", fmt::join(keys, " and "), keys.size() == 1 ? "makes" : "make");
}

/// True if a row of costs.exceptions says how long the group at [first, last) takes.
bool has_own_group_time(const RunModel& run, std::size_t first, std::size_t last) {
  if (!run.effective || !run.effective->costs.exceptions) return false;
  const auto names = [](const auto& index, std::int32_t value) { return !index || *index == value; };
  for (std::size_t at = first; at < last; ++at) {
    const Op op = op_at(run, at);
    if (op.kind() != OpKind::Forward) continue;
    for (const cost::CostRow& row : *run.effective->costs.exceptions)
      if (row.of_group && names(row.stage, op.stage().value()) &&
          names(row.microbatch, op.microbatch().value()) && names(row.rank, rank_at(run, at).value()))
        return true;
  }
  return false;
}

}  // namespace

std::string cost_source(const RunModel& run, std::size_t position) {
  if (!run.costs) return run.file.empty() ? "measured" : "measured: " + run.file;
  const Op op = op_at(run, position);
  const Slot slot = run.schedule->slot_of(op);
  const std::string_view key = row_of(op.kind()).cost_key;
  std::string text(key);
  const Ticks alone = run.costs->op_duration(*run.schedule, position % run.schedule->num_ops());
  Ticks base = run.costs->duration[index_of(op.kind())][slot.at()];
  if (run.effective) {
    const auto& of_stage = run.effective->costs.duration[index_of(op.kind())];
    const Ticks before_scale = of_stage ? of_stage->array[op.stage().at()] : base;
    text += fmt::format(" = {} ({})", time_text(run, before_scale), origin_of(run, key));
    if (before_scale != base)
      text += fmt::format(", {} it {}",
                          changed_by(run.effective->costs, op.kind(), op.stage(), rank_at(run, position)),
                          time_text(run, base));
  } else {
    text += fmt::format(" = {}", time_text(run, base));
  }
  if (!run.costs->slice_end.empty() && op.is_sliced())
    text += fmt::format(", slice {} of {}", op.slice(), run.schedule->slices());
  if (alone != base && run.costs->per_op.empty() && !run.costs->microbatch_scale.empty())
    text += fmt::format(", costs.microbatch_scale makes it {}", time_text(run, alone));
  if (!run.costs->per_op.empty() && alone != run.costs->table_duration(op, slot))
    text += fmt::format(", its own duration is {}", time_text(run, alone));
  const auto [first, last] = entry_at(run, position);
  if (last - first > 1)
    text += fmt::format(", {} rules for the group",
                        has_own_group_time(run, first, last) ? "costs.exceptions" : "costs.overlapped");
  return text;
}

Details details_of_op(const RunModel& run, const OpWalk& walk, std::size_t position, const OpExtras& extras) {
  const Op op = op_at(run, position);
  const Ticks start = run.timeline.start[position];
  const Ticks end = run.timeline.end[position];
  const Rank rank = rank_at(run, position);
  Details out;
  out.title = story_name(run, position);
  out.line = fmt::format("{} \u00b7 rank {}", span_text(run, start, end), rank.value());
  if (run.timeline.steps > 1) out.line += fmt::format(", step {}", step_at(run, position));
  out.sentence = op_sentence(run, walk, position, extras);
  out.chain =
      chain_lines(run, chain_from(run, walk, walk.back(run, position), run.span().start, kMostBehindOp));
  const auto add = [&](const char* name, std::string value) {
    if (!value.empty()) out.facts.push_back({name, std::move(value)});
  };
  add("kind", std::string(words_of(op.kind())));
  add("rank", std::to_string(rank.value()));
  add("stage", std::to_string(op.stage().value()));
  add("chunk", chunk_text(*run.schedule, op));
  add("microbatch", std::to_string(op.microbatch().value()));
  if (op.is_sliced()) add("slice", std::to_string(op.slice()));
  if (run.schedule->placement().replicas() > 1)
    add("replica", std::to_string(run.schedule->replica_of(op.microbatch()).value()));
  if (run.timeline.steps > 1) add("step", std::to_string(step_at(run, position)));
  add("start", time_text(run, start));
  add("end", time_text(run, end));
  add("duration", time_text(run, end - start));
  const auto [first, last] = entry_at(run, position);
  if (last - first > 1)
    add("overlapped", entry_text(*run.schedule, first % run.schedule->num_ops(),
                                 first % run.schedule->num_ops() + (last - first)));
  add("cost", cost_source(run, position));
  if (extras.slack) add("slack", time_text(run, *extras.slack) + (*extras.slack == 0 ? ", critical" : ""));
  if (extras.before && extras.after && run.memory)
    add("memory", fmt::format("{} before, {} after{}", memory_cell(*run.memory, *extras.before),
                              memory_cell(*run.memory, *extras.after),
                              counts_activations(*run.memory) ? ", in activations of a stage" : ""));
  for (const Neighbour& one : walk.predecessors(run, position))
    out.predecessors.push_back(line_of(run, one, "there at"));
  for (const Neighbour& one : walk.successors(run, position))
    out.successors.push_back(line_of(run, one, "could start at"));
  return out;
}

Details details_of_gap(const RunModel& run, const OpWalk& walk, const GapRef& gap, const RunRoots* roots) {
  const GapCause cause = cause_of(walk, run, gap);
  Details out;
  out.title = fmt::format("Gap on rank {} of {}", gap.rank.value(), run.title);
  out.line = fmt::format("{} \u00b7 {}", span_text(run, cause.span.start, cause.span.end),
                         name_of(cause.span.cause));
  if (cause.producer != OpWalk::kNone && cause.explains)
    out.chain = chain_lines(run, chain_from(run, walk, cause.producer, cause.span.start, kMostBehindGap));
  const std::vector<RootCause> parts =
      roots == nullptr ? std::vector<RootCause>() : roots->finder.of(gap.rank, cause.span);
  out.sentence = to_text(cause, run, parts);
  out.facts.push_back({"cause", std::string(name_of(cause.span.cause))});
  out.facts.push_back({"length", time_text(run, cause.span.end - cause.span.start)});
  out.facts.push_back({"start", time_text(run, cause.span.start)});
  out.facts.push_back({"end", time_text(run, cause.span.end)});
  if (cause.before != OpWalk::kNone)
    out.successors.push_back(
        {fmt::format("{} on rank {}", to_text(op_at(run, cause.before)), gap.rank.value()), "runs next",
         OpRef{run.id, cause.before}});
  const auto add = [&](std::size_t position, std::string what, bool strong) {
    if (position == OpWalk::kNone) return;
    out.predecessors.push_back(
        {fmt::format("{} on rank {}", to_text(op_at(run, position)), rank_at(run, position).value()),
         std::move(what), OpRef{run.id, position}, strong});
  };
  add(cause.producer, fmt::format("{}, there at {}", name_of(cause.link), time_text(run, cause.arrival)),
      cause.explains);
  if (cause.room > 0)
    out.facts.push_back({"would help", "up to " + duration_text(cause.room, run.timeline.unit)});
  add(cause.next_producer, "waited for then", false);
  return out;
}

std::string to_text(const Details& details) {
  std::string text = details.title + "\n" + details.line + "\n";
  if (!details.sentence.empty()) text += details.sentence + "\n";
  const auto add = [&](const std::vector<DetailLine>& lines, const char* heading) {
    for (const DetailLine& line : lines) text += fmt::format("{}{}\t{}\n", heading, line.name, line.value);
  };
  add(details.facts, "");
  add(details.predecessors, "after ");
  add(details.successors, "before ");
  return text;
}

OpExtras memory_around(const std::vector<MemoryStep>& curve, const QueueEffect& effect, Ticks start,
                       Ticks end) {
  const auto bytes_at = [&](Ticks time) {
    const auto upper = std::upper_bound(curve.begin(), curve.end(), time,
                                        [](Ticks at, const MemoryStep& step) { return at < step.time; });
    return upper == curve.begin() ? curve.front().bytes : std::prev(upper)->bytes;
  };
  OpExtras out;
  if (curve.empty()) return out;
  out.before = bytes_at(start) - effect.taken;
  out.after = bytes_at(std::max(start, end - 1)) - effect.given;
  return out;
}

// DetailsPart

OpExtras DetailsPart::extras_of(const RunModel& run, std::size_t position) const {
  OpExtras out;
  if (!found_ || found_->run != run.id) return out;
  if (found_->curve && found_->rank == rank_at(run, position) && found_->step == step_at(run, position)) {
    // A group takes and gives memory as one.
    QueueEffect effect;
    const auto [first, last] = entry_at(run, position);
    for (std::size_t i = first; i < last; ++i) {
      const QueueEffect part = found_->effects->of(op_at(run, i));
      effect.taken += part.taken;
      effect.given += part.given;
    }
    out = memory_around(*found_->curve, effect, run.timeline.start[position], run.timeline.end[position]);
  }
  if (found_->slack && !found_->slack->empty())
    out.slack = (*found_->slack)[position % run.schedule->num_ops()];
  return out;
}

void DetailsPart::ask(Session& session, const RunPtr& run, std::size_t position) {
  const Rank rank = rank_at(*run, position);
  const int step = step_at(*run, position);
  const bool same_run = found_ && found_->run == run->id;
  if (same_run && found_->rank == rank && found_->step == step) return;
  session.jobs.submit(
      "details", [this, run, rank, step, slack = same_run ? found_->slack : nullptr](const Cancelled&) {
        Found found{run->id, rank, step, nullptr, nullptr, slack};
        if (run->memory) {
          found.effects =
              std::shared_ptr<const ActivationEffects>(new ActivationEffects(*run->schedule, *run->memory),
                                                       [run](const ActivationEffects* e) { delete e; });
          found.curve = std::make_shared<const std::vector<MemoryStep>>(
              memory_curve(run->timeline, *run->memory, rank, step));
        }
        if (slack == nullptr) found.slack = std::make_shared<const std::vector<Ticks>>(run_slack(*run));
        return Jobs::Finish([this, found] {
          found_ = found;
          details_.reset();
        });
      });
}

const Details* DetailsPart::current(Session& session) {
  const Selection& selection = session.selection;
  if (!selection.op && !selection.gap) return nullptr;
  if (op_ != selection.op || gap_ != selection.gap) {
    op_ = selection.op;
    gap_ = selection.gap;
    details_.reset();
    asked_ = false;
  }
  const RunPtr run = selected_run(session);
  const RunRoots* const roots = gap_ ? session.part<Roots>().find(session, run) : nullptr;
  if (details_ && has_roots_ == (roots != nullptr)) return &*details_;
  has_roots_ = roots != nullptr;
  const OpWalk* walk = session.part<OpWalks>().find(session, run);
  if (walk == nullptr) return nullptr;
  if (op_) {
    if (!asked_) ask(session, run, op_->op);
    asked_ = true;
    details_ = details_of_op(*run, *walk, op_->op, extras_of(*run, op_->op));
  } else {
    details_ = details_of_gap(*run, *walk, *gap_, roots);
  }
  return &*details_;
}

bool DetailsPart::update(Session& session) {
  if (found_ && session.find_run(found_->run) == nullptr) found_.reset();
  return false;
}

void DetailsPart::write_state(const Session& session, io::JsonWriter& out) const {
  if (!details_ || op_ != session.selection.op || gap_ != session.selection.gap) {
    out.null();
    return;
  }
  std::map<std::string, std::string> facts;
  for (const DetailLine& line : details_->facts) facts[line.name] = line.value;
  out.object().member("facts", facts);
  write_names(out.key("predecessors"), session, details_->predecessors);
  out.member("line", details_->line).member("sentence", details_->sentence).key("chain").array();
  for (const ChainLine& line : details_->chain) out.text(line.name);
  out.close();
  write_names(out.key("successors"), session, details_->successors);
  out.member("title", details_->title).close();
}

}  // namespace pipeloom::gui

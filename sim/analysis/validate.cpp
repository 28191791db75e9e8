#include "sim/analysis/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/base/table_size.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/engine/wait_for.hpp"
#include "sim/kinds.hpp"

namespace pipeloom {
namespace {

/// More than anyone reads; keeps a hostile file from producing gigabytes of messages.
constexpr std::size_t kMostDiagnostics = 1000;

/// One pass over the queues, then one over (stage, microbatch).
class StructureCheck {
 public:
  explicit StructureCheck(const Schedule& schedule)
      : schedule_(schedule),
        units_(static_cast<std::size_t>(schedule.units())),
        seen_(table_size(schedule.stages(), units_)) {}

  std::vector<Diagnostic> run() && {
    for (Rank rank{0}; rank < Rank(schedule_.ranks()); ++rank) {
      check_has_stage(rank);
      check_queue(rank);
    }
    check_completeness();
    if (unlisted_ > 0)
      found_.push_back(
          {"more", Rank(0), 0, Op(), fmt::format("{} more problems; these come first", unlisted_)});
    return std::move(found_);
  }

 private:
  KindSet& seen(Op op) { return seen_[op.stage().at() * units_ + schedule_.unit_of(op)]; }
  void report(std::string code, Rank rank, std::size_t slot, Op op, std::string message) {
    if (found_.size() == kMostDiagnostics)
      ++unlisted_;
    else
      found_.push_back({std::move(code), rank, slot, op.with_joined(false), std::move(message)});
  }

  void check_has_stage(Rank rank) {
    if (schedule_.placement().slots_of(rank).empty())
      report("idle-rank", rank, 0, Op(),
             fmt::format("rank {} holds no stage; every rank needs at least one", rank.value()));
  }

  void check_queue(Rank rank) {
    std::size_t slot = 0;
    for_each_written_entry(schedule_, schedule_.queue_begin(rank), schedule_.queue_end(rank),
                           [&](std::size_t first, std::size_t last) {
                             check_group(rank, slot, first, last);
                             for (std::size_t i = first; i < last; ++i)
                               check_op(rank, slot, schedule_.ops()[i]);
                             ++slot;
                           });
  }

  void check_op(Rank rank, std::size_t slot, Op op) {
    KindSet& seen_before = seen(op);
    const auto say = [&](std::string_view code, const std::string& what) {
      report(std::string(code), rank, slot, op,
             fmt::format("rank {}, position {}: {} {}", rank.value(), slot, to_text(op), what));
    };
    const bool at_home = schedule_.home_of(op) == rank;
    if (!at_home)
      say("misplaced", fmt::format("belongs on rank {}, which holds stage {} for this microbatch",
                                   schedule_.home_of(op).value(), op.stage().value()));
    const bool twice = seen_before.has(op.kind());
    if (twice) say("duplicate", "is in the queues twice; each op runs once");
    check_order(op, seen_before, at_home, twice, say);
    if (schedule_.slices() > 1) check_slice(op, say);
    seen_before.add(op.kind());
  }

  /// Checks the rules of the table of kinds for the ops that come before this one. A backward away from home has its forward in another queue, so
  /// that nothing can be said of their order; and there is no input gradient to miss for a W beside a B.
  template <class Say>
  void check_order(Op op, KindSet seen_before, bool at_home, bool twice, const Say& say) {
    const KindRow& row = row_of(op.kind());
    const bool backward = carries_gradient(op.kind());
    const bool excluded = seen_before.any_of(row.excludes.kinds);
    if (excluded && !(backward && twice)) say_rule(row.excludes, op, say);
    const bool can_tell = backward ? at_home : !excluded;
    if (can_tell && !row.after.kinds.empty() && !seen_before.any_of(row.after.kinds))
      say_rule(row.after, op, say);
    for (const OrderRule& rule : row.never_after)
      if (seen_before.any_of(rule.kinds)) return say_rule(rule, op, say);
  }

  template <class Say>
  static void say_rule(const OrderRule& rule, Op op, const Say& say) {
    say(rule.code, fmt::format(fmt::runtime(rule.text), to_text(op.as(first_of(rule.kinds)))));
  }
  /// REQUIRES: there is one.
  static OpKind first_of(KindSet kinds) {
    return *std::find_if(kAllOpKinds.begin(), kAllOpKinds.end(),
                         [&](OpKind kind) { return kinds.has(kind); });
  }

  /// F(s,k,j) after F(s,k,j-1); the backward of slice j after those of slice j+1 and, for the last, after all forwards.
  template <class Say>
  void check_slice(Op op, const Say& say) {
    const int last = schedule_.slices() - 1;
    const int j = op.slice();
    if (op.kind() == OpKind::Forward && j > 0 && !seen(op.with_slice(j - 1)).has(OpKind::Forward))
      say("slice-order", fmt::format("stands before {}, whose keys and values it attends to",
                                     to_text(op.with_slice(j - 1))));
    if (!carries_gradient(op.kind())) return;
    const Op before = op.with_slice(j < last ? j + 1 : last);
    const KindSet needed = j < last ? kGradientMakers : KindSet{OpKind::Forward};
    if (!seen(before).any_of(needed))
      say("slice-order",
          fmt::format("stands before {} {}", j < last ? "the backward of slice" : "the forward of slice",
                      before.slice()));
  }

  /// Ops of a group start together, so none may need another of the same group: same microbatch means that it does
  /// on the same stage, and on neighbouring stages of one rank.
  void check_group(Rank rank, std::size_t slot, std::size_t first, std::size_t last) {
    if (schedule_.ops()[first].in_turn()) return;
    for (std::size_t i = first; i < last; ++i)
      for (std::size_t j = i + 1; j < last; ++j) {
        const Op a = schedule_.ops()[i];
        const Op b = schedule_.ops()[j];
        if (!row_of(a.kind()).may_overlap || !row_of(b.kind()).may_overlap)
          report("dependent-group", rank, slot, b,
                 fmt::format(
                     "rank {}, position {}: {} and {} are in one group, but a copy runs beside the queue; "
                     "give it an entry of its own",
                     rank.value(), slot, to_text(a), to_text(b)));
        else if (a.microbatch() == b.microbatch() && depend(a, b))
          report("dependent-group", rank, slot, b,
                 fmt::format("rank {}, position {}: {} and {} cannot overlap, one needs the other's result",
                             rank.value(), slot, to_text(a), to_text(b)));
      }
  }

  static bool depend(Op a, Op b) {
    if (a.stage() == b.stage() || kOutputKinds.any_of({a.kind(), b.kind()})) return true;
    const int apart = std::abs(a.stage().value() - b.stage().value());
    const TensorKind made = row_of(a.kind()).makes.tensor;
    return apart == 1 && made != TensorKind::None && made == row_of(b.kind()).makes.tensor;
  }

  void check_completeness() {
    const int slices = schedule_.slices();
    for (Stage stage{0}; stage < Stage(schedule_.stages()); ++stage)
      for (Microbatch k{0}; k < Microbatch(schedule_.microbatches()); ++k)
        for (int j = 0; j < slices; ++j)
          check_pass(slices == 1 ? forward(stage, k) : forward(stage, k).with_slice(j));
  }

  /// Everything of one forward is there.
  void check_pass(Op forward) {
    const KindSet here = seen(forward);
    if (!here.has(OpKind::Forward)) miss("missing-forward", forward, "its forward");
    check_partners(forward, here, Lane::Copies);
    if (schedule_.is_forward_only()) return;
    if (!here.any_of(kGradientMakers))
      miss("missing-backward", forward.as(OpKind::Backward), "a backward (B, or I and W)");
    check_partners(forward, here, Lane::Work);
    if (schedule_.shares_output() && !here.any_of(kOutputKinds))
      miss("missing-output", forward.as(OpKind::Output), "its share of the output layer (S and T)");
  }

  /// Ops that come in pairs: I and W, O and L.
  void check_partners(Op forward, KindSet here, Lane lane) {
    for (const KindRow& row : kKinds)
      if (row.lane == lane && here.has(row.kind) && !row.with.kinds.empty() && !here.any_of(row.with.kinds))
        miss(std::string(row.with.code), forward.as(first_of(row.with.kinds)), row.with.text);
  }

  void miss(std::string code, Op op, std::string_view what) {
    const Rank rank = schedule_.home_of(op);
    const std::string slice = op.is_sliced() ? fmt::format(", slice {}", op.slice()) : "";
    report(std::move(code), rank, schedule_.queue(rank).size(), op,
           fmt::format("rank {}: stage {}, microbatch {}{} lacks {}; add {}", rank.value(),
                       op.stage().value(), op.microbatch().value(), slice, what, to_text(op)));
  }

  const Schedule& schedule_;
  std::size_t units_;
  std::vector<KindSet> seen_;  // [stage * units + unit]
  std::vector<Diagnostic> found_;
  std::size_t unlisted_ = 0;  // found beyond kMostDiagnostics
};

std::size_t slot_of_op(const Schedule& schedule, Rank rank, std::size_t op_index) {
  std::size_t slot = 0;
  for_each_written_entry(schedule, schedule.queue_begin(rank), op_index + 1,
                         [&](std::size_t first, std::size_t) { slot += first <= op_index ? 1 : 0; });
  return slot - 1;
}

}  // namespace

std::vector<Diagnostic> validate_structure(const Schedule& schedule) {
  return StructureCheck(schedule).run();
}

std::vector<Diagnostic> validate(const Schedule& schedule) {
  auto found = validate_structure(schedule);
  if (!found.empty()) return found;
  const auto hang = find_hang(schedule);
  if (!hang) return found;
  const WaitNode<Op>& first = hang->cycle.empty() ? hang->nodes.front() : hang->nodes[hang->cycle.front()];
  found.push_back({"hang", first.rank, slot_of_op(schedule, first.rank, first.at),
                   schedule.ops()[first.at].with_joined(false),
                   fmt::format("the schedule hangs after {} of {} entries: {}", hang->done,
                               schedule.num_entries(), describe(*hang, schedule))});
  return found;
}

bool only_hangs(const std::vector<Diagnostic>& diagnostics) {
  return !diagnostics.empty() &&
         std::all_of(diagnostics.begin(), diagnostics.end(), [](const auto& d) { return d.code == "hang"; });
}

void require_valid(const Schedule& schedule) {
  constexpr std::size_t kShown = 3;
  const auto found = validate(schedule);
  if (found.empty()) return;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, found.size()); ++i)
    text += (i == 0 ? "" : "; ") + found[i].message;
  if (found.size() > kShown)
    text += fmt::format("; and {} more (pipeloom validate lists them)", found.size() - kShown);
  if (only_hangs(found)) throw HangError("illegal schedule: " + text);
  throw ScheduleError("illegal schedule: " + text);
}

}  // namespace pipeloom

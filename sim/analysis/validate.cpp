#include "sim/analysis/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/error.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/text.hpp"

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
        seen_(static_cast<std::size_t>(schedule.stages()) * units_, 0) {}

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
  static constexpr unsigned bit(OpKind kind) { return 1U << index_of(kind); }
  /// What must not stand beside a B, or an I, of the same stage and microbatch.
  static constexpr unsigned other_backward(OpKind kind) {
    return kind == OpKind::Backward ? bit(OpKind::BackwardInput) | bit(OpKind::BackwardWeight)
                                    : bit(OpKind::Backward);
  }

  static constexpr unsigned any_backward() { return bit(OpKind::Backward) | bit(OpKind::BackwardInput); }

  unsigned char& seen(Op op) { return seen_[op.stage().at() * units_ + schedule_.unit_of(op)]; }
  /// The same stage and microbatch, another kind; keeps the slice.
  static Op partner(OpKind kind, Op op) {
    const Op other(kind, op.stage(), op.microbatch());
    return op.is_sliced() ? other.with_slice(op.slice()) : other;
  }

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
    for_each_entry(schedule_, schedule_.queue_begin(rank), schedule_.queue_end(rank),
                   [&](std::size_t first, std::size_t last) {
                     check_group(rank, slot, first, last);
                     for (std::size_t i = first; i < last; ++i) check_op(rank, slot, schedule_.ops()[i]);
                     ++slot;
                   });
  }

  void check_op(Rank rank, std::size_t slot, Op op) {
    unsigned char& seen_before = seen(op);
    const auto say = [&](std::string code, const std::string& what) {
      report(std::move(code), rank, slot, op,
             fmt::format("rank {}, position {}: {} {}", rank.value(), slot, to_text(op), what));
    };
    if (schedule_.home_of(op) != rank)
      say("misplaced", fmt::format("belongs on rank {}, which holds stage {} for this microbatch",
                                   schedule_.home_of(op).value(), op.stage().value()));
    if ((seen_before & bit(op.kind())) != 0)
      say("duplicate", "is in the queues twice; each op runs once");
    else if (carries_gradient(op.kind()) && (seen_before & other_backward(op.kind())) != 0)
      say("mixed-backward",
          "comes on top of another backward of the same stage and microbatch; use B, or I and W");
    if (carries_gradient(op.kind()) && (seen_before & bit(OpKind::Forward)) == 0 &&
        schedule_.home_of(op) == rank)
      say("backward-before-forward",
          fmt::format("stands before its forward {}", to_text(partner(OpKind::Forward, op))));
    if (op.kind() == OpKind::BackwardWeight && (seen_before & bit(OpKind::Backward)) != 0)
      say("mixed-backward",
          "follows a full backward B, which computes the weight gradient already; use I and W");
    else if (op.kind() == OpKind::BackwardWeight && (seen_before & bit(OpKind::BackwardInput)) == 0)
      say("weight-before-input", fmt::format("stands before (or without) its input gradient {}",
                                             to_text(partner(OpKind::BackwardInput, op))));
    if (is_copy(op.kind()) || op.kind() == OpKind::Recompute) check_extra(op, seen_before, say);
    if (schedule_.slices() > 1) check_slice(op, say);
    seen_before = static_cast<unsigned char>(seen_before | bit(op.kind()));
  }

  /// R, O and L: after the forward, before the backward, and in this order: O, L, R.
  template <class Say>
  void check_extra(Op op, unsigned seen_before, const Say& say) {
    const char* code = op.kind() == OpKind::Recompute ? "recompute-order" : "copy-order";
    const bool needs_offload = op.kind() == OpKind::Reload;
    const OpKind needed = needs_offload ? OpKind::Offload : OpKind::Forward;
    if ((seen_before & bit(needed)) == 0)
      say(code, fmt::format("stands before (or without) {}", to_text(partner(needed, op))));
    if ((seen_before & any_backward()) != 0)
      say(code, "stands behind the backward that it is for");
    else if (is_copy(op.kind()) && (seen_before & bit(OpKind::Recompute)) != 0)
      say(code, fmt::format("stands behind {}, which needs what it copies",
                            to_text(partner(OpKind::Recompute, op))));
  }

  /// F(s,k,j) after F(s,k,j-1); the backward of slice j after those of slice j+1 and, for the last, after all forwards.
  template <class Say>
  void check_slice(Op op, const Say& say) {
    const int last = schedule_.slices() - 1;
    const int j = op.slice();
    if (op.kind() == OpKind::Forward && j > 0 && (seen(op.with_slice(j - 1)) & bit(OpKind::Forward)) == 0)
      say("slice-order", fmt::format("stands before {}, whose keys and values it attends to",
                                     to_text(op.with_slice(j - 1))));
    if (!carries_gradient(op.kind())) return;
    const Op before = op.with_slice(j < last ? j + 1 : last);
    const unsigned needed = j < last ? any_backward() : bit(OpKind::Forward);
    if ((seen(before) & needed) == 0)
      say("slice-order",
          fmt::format("stands before {} {}", j < last ? "the backward of slice" : "the forward of slice",
                      before.slice()));
  }

  /// Ops of a group start together, so none may need another of the same group: same microbatch means that it does
  /// on the same stage, and on neighbouring stages of one rank.
  void check_group(Rank rank, std::size_t slot, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      for (std::size_t j = i + 1; j < last; ++j) {
        const Op a = schedule_.ops()[i];
        const Op b = schedule_.ops()[j];
        if (is_copy(a.kind()) || is_copy(b.kind()))
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
    if (a.stage() == b.stage()) return true;
    const int apart = std::abs(a.stage().value() - b.stage().value());
    const bool weight = a.kind() == OpKind::BackwardWeight || b.kind() == OpKind::BackwardWeight;
    const bool both_forward = a.kind() == OpKind::Forward && b.kind() == OpKind::Forward;
    const bool both_backward = carries_gradient(a.kind()) && carries_gradient(b.kind());
    return apart == 1 && !weight && (both_forward || both_backward);
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
    const unsigned seen_kinds = seen(forward);
    const auto has = [&](OpKind kind) { return (seen_kinds & bit(kind)) != 0; };
    if (!has(OpKind::Forward)) miss("missing-forward", forward, "its forward");
    if (has(OpKind::Offload) != has(OpKind::Reload))
      miss("copy-order", partner(has(OpKind::Offload) ? OpKind::Reload : OpKind::Offload, forward),
           "the other of its two copies");
    if (schedule_.is_forward_only()) return;
    if ((seen_kinds & any_backward()) == 0)
      miss("missing-backward", partner(OpKind::Backward, forward), "a backward (B, or I and W)");
    if (has(OpKind::BackwardInput) && !has(OpKind::BackwardWeight))
      miss("missing-weight", partner(OpKind::BackwardWeight, forward),
           "the weight gradient W that belongs to its I");
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
  std::vector<unsigned char> seen_;  // bits of OpKind, [stage * units + unit]
  std::vector<Diagnostic> found_;
  std::size_t unlisted_ = 0;  // found beyond kMostDiagnostics
};

std::size_t slot_of_op(const Schedule& schedule, Rank rank, std::size_t op_index) {
  std::size_t slot = 0;
  for_each_entry(schedule, schedule.queue_begin(rank), op_index + 1,
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
  const auto deadlock = find_deadlock(schedule);
  if (!deadlock) return found;
  const BlockedRank& first =
      deadlock->cycle.empty() ? deadlock->blocked.front() : deadlock->blocked[deadlock->cycle.front()];
  found.push_back({"hang", first.rank, slot_of_op(schedule, first.rank, first.op),
                   schedule.ops()[first.op].with_joined(false),
                   fmt::format("the schedule hangs after {} of {} entries: {}", deadlock->entries_done,
                               schedule.num_entries(), describe(*deadlock, schedule))});
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

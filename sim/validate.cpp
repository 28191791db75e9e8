#include "sim/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/error.hpp"
#include "sim/simulator.hpp"
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
        microbatches_(static_cast<std::size_t>(schedule.microbatches())),
        seen_(static_cast<std::size_t>(schedule.stages()) * microbatches_, 0) {}

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

  unsigned char& seen(Op op) { return seen_[op.stage().at() * microbatches_ + op.microbatch().at()]; }

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
          fmt::format("stands before its forward {}", to_text(forward(op.stage(), op.microbatch()))));
    if (op.kind() == OpKind::BackwardWeight && (seen_before & bit(OpKind::Backward)) != 0)
      say("mixed-backward",
          "follows a full backward B, which computes the weight gradient already; use I and W");
    else if (op.kind() == OpKind::BackwardWeight && (seen_before & bit(OpKind::BackwardInput)) == 0)
      say("weight-before-input", fmt::format("stands before (or without) its input gradient {}",
                                             to_text(backward_input(op.stage(), op.microbatch()))));
    seen_before = static_cast<unsigned char>(seen_before | bit(op.kind()));
  }

  /// Ops of a group start together, so none may need another of the same group: same microbatch means that it does
  /// on the same stage, and on neighbouring stages of one rank.
  void check_group(Rank rank, std::size_t slot, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      for (std::size_t j = i + 1; j < last; ++j) {
        const Op a = schedule_.ops()[i];
        const Op b = schedule_.ops()[j];
        if (a.microbatch() == b.microbatch() && depend(a, b))
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
    const bool forward_only = schedule_.is_forward_only();
    for (Stage stage{0}; stage < Stage(schedule_.stages()); ++stage)
      for (Microbatch k{0}; k < Microbatch(schedule_.microbatches()); ++k) {
        const unsigned seen_kinds = seen(forward(stage, k));
        if ((seen_kinds & bit(OpKind::Forward)) == 0)
          miss("missing-forward", forward(stage, k), "its forward");
        if (forward_only) continue;
        if ((seen_kinds & (bit(OpKind::Backward) | bit(OpKind::BackwardInput))) == 0)
          miss("missing-backward", backward(stage, k), "a backward (B, or I and W)");
        if ((seen_kinds & bit(OpKind::BackwardInput)) != 0 && (seen_kinds & bit(OpKind::BackwardWeight)) == 0)
          miss("missing-weight", backward_weight(stage, k), "the weight gradient W that belongs to its I");
      }
  }

  void miss(std::string code, Op op, std::string_view what) {
    const Rank rank = schedule_.home_of(op);
    report(std::move(code), rank, schedule_.queue(rank).size(), op,
           fmt::format("rank {}: stage {}, microbatch {} lacks {}; add {}", rank.value(), op.stage().value(),
                       op.microbatch().value(), what, to_text(op)));
  }

  const Schedule& schedule_;
  std::size_t microbatches_;
  std::vector<unsigned char> seen_;  // bits of OpKind, [stage * m + microbatch]
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

void require_valid(const Schedule& schedule) {
  constexpr std::size_t kShown = 3;
  const auto found = validate(schedule);
  if (found.empty()) return;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, found.size()); ++i)
    text += (i == 0 ? "" : "; ") + found[i].message;
  if (found.size() > kShown)
    text += fmt::format("; and {} more (pipeloom validate lists them)", found.size() - kShown);
  throw ScheduleError("illegal schedule: " + text);
}

}  // namespace pipeloom

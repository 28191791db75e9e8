#include "study/suite/lint_rules.hpp"

#include <algorithm>
#include <iterator>

#include "study/run/messages.hpp"

namespace pipeloom::study::gate {
namespace {

constexpr LintRule kRules[] = {
    {"backward-before-forward", "A backward stands before the forward whose activations it needs."},
    {"bad-input", "The file cannot be read, or a key or value in it means nothing."},
    {"compute-before-receive", "A computation runs before what it needs has been received."},
    {"compute-sharded", "A computation runs while the parameters of its stage are not gathered."},
    {"copy-order", "An activation is offloaded or reloaded out of order, or only one of both."},
    {"dependent-group", "Ops of one overlapped group depend on each other."},
    {"duplicate", "An op is in the queues twice; each op runs once."},
    {"empty", "The schedule has no ops."},
    {"forward-order",
     "The last stage runs its forwards out of microbatch order, and PyTorch finds losses by their position."},
    {"hang", "The queues wait for each other in a cycle: the schedule never ends."},
    {"idle-rank", "A rank has nothing to do."},
    {"illegal", "The schedule breaks a rule."},
    {"limit", "A metric is beyond the limit that the suite sets it."},
    {"message-hang", "Sends and receives wait for each other in a cycle: the program never ends."},
    {"message-order",
     "Ranks wait for each other where messages keep their order; where receives are only posted the program "
     "ends."},
    {"mispaired", "Two ranks pass each other's messages in different orders."},
    {"misplaced", "An op stands on a rank that does not hold its stage."},
    {"missing-backward", "A microbatch goes forward through a stage and never comes back."},
    {"missing-forward", "A backward has no forward."},
    {"missing-weight", "An input gradient has no weight gradient."},
    {"mixed-backward", "A microbatch has a full backward and a split one on the same stage."},
    {"more", "There are more problems than are listed."},
    {"no-peer", "A message has no other rank at its end."},
    {"no-such-stage", "An action names a stage that does not exist."},
    {"over-memory", "A rank needs more memory than memory.limit_bytes allows."},
    {"receive-twice", "A message is received again before its first copy was used."},
    {"receive-unused", "A message is received that nothing uses."},
    {"recompute-order", "A recomputation does not stand between its forward and its backward."},
    {"reduce-early", "Gradients are reduced before the last backward of their stage."},
    {"reduce-missing", "The gradients of a stage are never reduced."},
    {"reduce-twice", "The gradients of a stage are reduced twice."},
    {"reduce-unused", "Gradients are reduced before a stage has any; with FSDP that frees its parameters."},
    {"refused", "The schedule does not take these parameters."},
    {"reshard-absent", "Parameters are given back that are not gathered."},
    {"reshard-unused", "Parameters are given back before a computation waited for them."},
    {"send-before-compute", "A result is sent before it is computed."},
    {"send-twice", "A result is sent twice."},
    {"slice-order", "Slices of a sequence run in an order that attention does not allow."},
    {"torch-refuses", "PyTorch refuses the schedule when it loads it."},
    {"unshard-resident", "Parameters are gathered that are gathered already."},
    {"unshard-unused", "Parameters are gathered that nothing uses."},
    {"weight-before-input", "A weight gradient stands before the input gradient that it needs."},
};

}  // namespace

std::span<const LintRule> lint_rules() {
  return kRules;
}

std::size_t lint_rule_index(std::string_view id) {
  const auto find = [](std::string_view wanted) {
    return std::find_if(std::begin(kRules), std::end(kRules),
                        [wanted](const LintRule& rule) { return rule.id == wanted; });
  };
  auto found = find(id);
  if (found == std::end(kRules)) found = find("illegal");
  return static_cast<std::size_t>(found - std::begin(kRules));
}

std::string_view rule_of(const Error& error) {
  if (dynamic_cast<const HangError*>(&error) != nullptr) return "hang";
  if (const auto* messages = dynamic_cast<const MessageProblem*>(&error))
    return messages->waits().empty() ? "mispaired" : "message-hang";
  return dynamic_cast<const ScheduleError*>(&error) != nullptr ? "refused" : "bad-input";
}

}  // namespace pipeloom::study::gate

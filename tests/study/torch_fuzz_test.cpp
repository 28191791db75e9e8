// `validate` against a plain second account of what PyTorch does, on lowered files with random changes.

#include <cstdlib>
#include <map>
#include <random>
#include <sstream>

#include <pipeloom/error.hpp>
#include <pipeloom/simulate.hpp>
#include "schedules/generator.hpp"
#include "sim/io/formats/torch_csv.hpp"
#include "sim/torch/lowering.hpp"
#include "study/report/hang_page.hpp"
#include "study/report/torch_page.hpp"
#include "support/catch.hpp"
#include "support/torch_run.hpp"

namespace pipeloom::torch_fuzz_test {
namespace {

using tests::TorchRun;
using Rows = std::vector<std::vector<Action>>;

struct Base {
  ActionLists lists;
  int ranks = 0;
  int stages = 0;
  int microbatches = 0;
};

std::vector<Base> bases() {
  std::vector<Base> out;
  for (const char* name : {"1f1b", "Interleaved1F1B", "InterleavedZeroBubble", "ZBVZeroBubble"})
    for (const int ranks : {2, 3})
      for (const bool deferred : {false, true}) {
        const auto [generator, alias] = schedules::find(name);
        Params params{.ranks = ranks, .microbatches = 3, .chunks = generator->requirements.default_chunks};
        if (!schedules::refusal(*generator, params).empty()) continue;
        const Schedule schedule = schedules::make(*generator, params);
        out.push_back({torch::lower(schedule, {.defer_receives = deferred}), ranks, schedule.stages(), 3});
      }
  return out;
}

Action changed(Action action, std::mt19937& random, const Base& base) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const Stage stage(below(3) == 0 ? below(base.stages) : action.stage().value());
  if (is_of_stage(action.kind())) return Action(action.kind(), stage);
  const Microbatch k(below(2) == 0 ? below(base.microbatches) : action.microbatch().value());
  constexpr ActionKind kMessages[] = {ActionKind::SendForward, ActionKind::RecvForward,
                                      ActionKind::SendBackward, ActionKind::RecvBackward};
  const ActionKind kind = is_transfer(action.kind()) && below(3) == 0 ? kMessages[below(4)] : action.kind();
  return {kind, stage, k};
}

/// One to three changes: cells move near or far, go, come again, or become others.
ActionLists edited(const Base& base, std::mt19937& random) {
  Rows rows;
  for (Rank rank{0}; rank < Rank(base.ranks); ++rank)
    rows.emplace_back(base.lists.row(rank).begin(), base.lists.row(rank).end());
  const auto below = [&](std::size_t n) { return static_cast<std::ptrdiff_t>(random() % n); };
  for (auto edits = 1 + below(3); edits > 0; --edits) {
    auto& row = rows[static_cast<std::size_t>(below(rows.size()))];
    if (row.size() < 2) continue;
    const auto at = row.begin() + below(row.size());
    const Action action = *at;
    switch (below(6)) {
      case 0:
        std::iter_swap(at, at + 1 == row.end() ? at - 1 : at + 1);
        break;
      case 1:
        row.erase(at);
        row.insert(row.begin() + below(row.size() + 1), action);
        break;
      case 2:
        row.erase(at);
        break;
      case 3:
        row.insert(row.begin() + below(row.size() + 1), action);
        break;
      case 4:
        *at = changed(action, random, base);
        break;
      default:
        std::iter_swap(at, row.begin() + below(row.size()));
    }
  }
  ActionLists out;
  for (const auto& row : rows) {
    out.begin_rank();
    for (const Action action : row) out.add(action);
  }
  return out;
}

enum class Ours { Fine, Unordered, Sharded, Illegal, Refused };

Ours ours(const std::string& text, const Base& base) {
  const torch::LoadingRun run{torch::Form::ComputeComms, base.ranks, base.stages, base.microbatches};
  const auto found = study::examine_torch(text, "f", "torch-comms", run, torch::Target::V215);
  if (found->hangs()) (void)study::lowered_hang_page(found->lists, found->verdict.rank_of_stage, false);
  (void)study::torch_page(*found, true);
  (void)study::torch_problems(*found, text);
  if (!found->verdict.ok()) return Ours::Refused;
  try {
    for (const Diagnostic& one : validate(io::read_torch_comms(text, "f").schedule))
      if (!found->is_harmless(one)) return Ours::Illegal;
  } catch (const InputError&) {
    return Ours::Illegal;
  }
  if (found->ok()) return Ours::Fine;
  const std::string_view where = found->where_wrong();
  return where.empty() ? Ours::Illegal : where == " with FSDP" ? Ours::Sharded : Ours::Unordered;
}

Ours theirs(const TorchRun& run) {
  if (run.end == TorchRun::End::Refused) return Ours::Refused;
  if (run.end != TorchRun::End::Right) return Ours::Illegal;
  if (run.keeps_order_hangs) return run.sharded_raises ? Ours::Illegal : Ours::Unordered;
  return run.sharded_raises ? Ours::Sharded : Ours::Fine;
}

int files_wanted() {
  const char* wanted = std::getenv("PIPELOOM_TORCH_FUZZ_FILES");
  return wanted == nullptr ? 2000 : std::atoi(wanted);
}

}  // namespace

TEST_CASE("torch files: random changes get the verdict that a plain account of PyTorch's run gives") {
  const auto all = bases();
  std::mt19937 random(20260101);
  std::map<Ours, int> count;
  int strays = 0;
  for (int i = 0; i < files_wanted(); ++i) {
    const Base& base = all[random() % all.size()];
    const ActionLists lists = edited(base, random);
    std::ostringstream text;
    io::write_torch_actions(text, lists);
    const TorchRun run = tests::run_as_torch(lists, base.ranks, base.stages, base.microbatches);
    const Ours verdict = ours(text.str(), base);
    INFO("file " << i << "\n" << text.str() << run.why);
    if (run.has_stray) {
      // PyTorch passes over some messages at the ends of the pipeline; a file that has any is refused here.
      ++strays;
      REQUIRE(verdict != Ours::Fine);
      continue;
    }
    REQUIRE(static_cast<int>(verdict) == static_cast<int>(theirs(run)));
    ++count[verdict];
  }
  // Every verdict came up, so the comparison was one.
  CHECK(strays > 0);
  for (const Ours one : {Ours::Fine, Ours::Unordered, Ours::Sharded, Ours::Illegal, Ours::Refused})
    CHECK(count[one] > 10);
}

}  // namespace pipeloom::torch_fuzz_test

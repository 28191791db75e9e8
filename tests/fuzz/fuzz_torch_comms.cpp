// Any bytes as a PyTorch schedule file with its messages: read, judged, run dry, and written back.

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>

#include "sim/error.hpp"
#include "sim/io/torch_csv.hpp"
#include "sim/torch/dry_run.hpp"
#include "sim/torch/grid.hpp"
#include "sim/torch/liveness.hpp"
#include "sim/torch/lowering.hpp"
#include "sim/torch/verdict.hpp"
#include "sim/validate.hpp"
#include "tests/fuzz/schedule_round_trip.hpp"

namespace {

using namespace pipeloom;

/// What PyTorch's parser takes gets a verdict, whatever it says.
void judge(std::string_view text) {
  const ActionLists lists = io::read_torch_actions(text, "schedule.csv").lists;
  for (const auto form : {torch::Form::ComputeOnly, torch::Form::ComputeComms}) {
    const torch::Verdict verdict = torch::verdict_of(lists, torch::loading_run(lists, form));
    fuzz::require(verdict.ok() == verdict.message.empty());
    fuzz::require(verdict.message.find('\n') == std::string::npos);
    if (verdict.place && lists.num_actions() < 256)
      fuzz::require(torch::grid_text(lists, {.error_step = verdict.place->step}).find("ERROR HERE") !=
                    std::string::npos);
    if (!verdict.ok() || form == torch::Form::ComputeOnly) continue;
    (void)torch::runtime_lints(lists, verdict.rank_of_stage);
    (void)torch::reduction_lints(lists, verdict.rank_of_stage);
    (void)torch::swap_lints(lists, verdict);
    (void)torch::dry_run_of(lists, verdict, torch::Receives::Posted);
    (void)torch::dry_run_of(lists, verdict);
  }
  (void)torch::live_activations(lists);
}

/// A sound schedule lowers for every release, and what is written reads back.
void lower_and_back(const Schedule& schedule) {
  for (const torch::LowerOptions options :
       {torch::LowerOptions{}, torch::LowerOptions{.target = torch::Target::Legacy, .merge = true},
        torch::LowerOptions{.target = torch::Target::V215, .max_active_stages = 2, .defer_receives = true}}) {
    try {
      const ActionLists lists = torch::lower(schedule, options);
      const torch::Homes homes(schedule);
      fuzz::require(torch::fits(lists, homes) && !torch::dry_run(lists, homes, torch::KeepGrid::No).stuck);
      std::ostringstream out;
      io::write_torch_actions(out, lists);
      fuzz::require(io::read_torch_actions(out.str(), "again").lists == lists);
    } catch (const InputError&) {
      continue;  // a group that PyTorch has no text for, or of more stages than may be resident
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    judge(text);
  } catch (const InternalError&) {
    throw;  // a bug, whatever the input
  } catch (const Error& error) {
    fuzz::require(error.line().find('\n') == std::string::npos);
  }
  fuzz::check_reader([text] {
    io::TorchCsv csv = io::read_torch_comms(text, "schedule.csv");
    if (static_cast<std::int64_t>(csv.schedule.stages()) * csv.schedule.microbatches() <= 1 << 12 &&
        validate(csv.schedule).empty())
      lower_and_back(csv.schedule);
    return std::move(csv.schedule);
  });
  return 0;
}

// Any bytes as a PyTorch schedule file with its messages: read, judged for every release, run dry, and what `validate` says of it.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <pipeloom/error.hpp>
#include "sim/io/formats/torch_csv.hpp"
#include "sim/torch/dry_run.hpp"
#include "sim/torch/homes.hpp"
#include "sim/torch/liveness.hpp"
#include "sim/torch/verdict.hpp"
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    judge(text);
    for (const char* format : {"torch-compute", "torch-comms"})
      fuzz::check_torch_pages(std::string(text), format);
  } catch (const InternalError&) {
    throw;  // a bug, whatever the input
  } catch (const Error& error) {
    fuzz::require_one_line(error.line());
    (void)study::torch_page_of_unreadable(std::string(text), "schedule.csv", torch::Form::ComputeComms);
    for (const InputError& cell : io::torch_cell_errors(text, "schedule.csv", torch::Form::ComputeComms))
      fuzz::require_one_line(cell.line());
  }
  fuzz::check_reader([text] { return io::read_torch_comms(text, "schedule.csv").schedule; });
  return 0;
}

// The formats of PyTorch's schedule files.

#include <ostream>

#include <pipeloom/error.hpp>
#include "sim/io/formats/formats.hpp"
#include "sim/io/formats/torch_csv.hpp"
#include "sim/torch/dry_run.hpp"

namespace pipeloom::io {
namespace {

Imported imported(TorchCsv csv) {
  Imported out;
  out.schedule = std::make_shared<const Schedule>(std::move(csv.schedule));
  out.warnings = std::move(csv.warnings);
  out.idle_cells = std::make_shared<const IdleCells>(std::move(csv.idle_cells));
  if (csv.actions.ranks() > 0) out.actions = std::make_shared<const ActionLists>(std::move(csv.actions));
  return out;
}

/// The program whose dry run is wanted: the file's own actions; PyTorch's messages placed straight into the drawn order where no
/// release was asked for, since that is what its dry run takes.
ActionLists program_of(const Exported& run, const torch::Homes& homes) {
  if (run.actions != nullptr) return *run.actions;
  if (run.lowering != torch::LowerOptions()) return torch::lower(*run.schedule, run.lowering);
  const ActionLists drawn = to_actions(*run.schedule, run.idle_cells);
  torch::Transfers transfers = torch::add_transfers(drawn, homes);
  if (transfers.stuck)
    throw ScheduleError("the schedule hangs, so it has no steps: " + describe(*transfers.stuck, drawn) +
                        "; `pipeloom validate` says what to move");
  return std::move(transfers.lists);
}

void write_steps(std::ostream& stream, const Exported& run) {
  const torch::Homes homes(*run.schedule);
  const ActionLists program = program_of(run, homes);
  if (!torch::fits(program, homes))
    throw ScheduleError(
        "a message names a stage or microbatch that no computation has, so there are no steps to the end; "
        "`pipeloom validate` names it");
  const torch::DryRun dry = torch::dry_run(program, homes);
  if (dry.stuck)
    throw ScheduleError("the messages deadlock, so there are no steps to the end: " +
                        describe(*dry.stuck, program) + "; `pipeloom validate` says what to move");
  write_torch_actions(stream, dry.grid);
}

}  // namespace

Format torch_compute_format() {
  Format out;
  out.name = "torch-compute";
  out.extensions = {".csv"};
  out.summary = "PyTorch's compute_only schedule file";
  out.read = [](std::string_view text, const std::string& name) {
    return imported(read_torch_csv(text, name));
  };
  out.write = [](std::ostream& stream, const Exported& run) {
    write_torch_csv(stream, *run.schedule, run.idle_cells);
  };
  out.sniff = [](std::string_view text) {
    return looks_like_torch_csv(text) && !looks_like_torch_comms(text);
  };
  return out;
}

Format torch_comms_format() {
  Format out;
  out.name = "torch-comms";
  out.summary = "PyTorch's compute_comms schedule file: lowered for --target";
  out.lowers = true;
  out.read = [](std::string_view text, const std::string& name) {
    return imported(read_torch_comms(text, name));
  };
  out.write = [](std::ostream& stream, const Exported& run) {
    write_torch_actions(stream, run.actions != nullptr ? without_idle(*run.actions)
                                                       : torch::lower(*run.schedule, run.lowering));
  };
  out.sniff = looks_like_torch_comms;
  return out;
}

Format torch_steps_format() {
  Format out;
  out.name = "torch-steps";
  out.summary = "the steps of PyTorch's dry run, one action per rank and step";
  out.lowers = true;
  out.write = write_steps;
  return out;
}

}  // namespace pipeloom::io

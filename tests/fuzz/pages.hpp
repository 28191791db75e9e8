#pragma once

// What stands behind a reader: what the commands print of a schedule that was read, and every text that it can be written as.

#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/analysis/validate.hpp"
#include "sim/io/formats/formats.hpp"
#include "sim/io/formats/torch_csv.hpp"
#include "sim/torch/dry_run.hpp"
#include "sim/torch/lowering.hpp"
#include "sim/torch/pairing.hpp"
#include "study/report/hang_page.hpp"
#include "study/report/report.hpp"
#include "study/report/torch_page.hpp"
#include "study/run/evaluate.hpp"
#include "tests/fuzz/require.hpp"

namespace pipeloom::fuzz {

/// Pages try moves of ops one by one, which takes a while where there are many.
inline constexpr std::size_t kMostOnPage = 80;
/// Of larger runs only the engine is tried: so there are many inputs a second.
inline constexpr std::size_t kMostOps = 400;

/// As `validate -v` has them. Also of a schedule that is no sound one.
inline void check_pages(const Schedule& schedule) {
  const auto diagnostics = validate(schedule);
  for (const Diagnostic& one : diagnostics) {
    require_one_line(one.message);
    require(!to_text(one.op).empty());
  }
  if (schedule.num_ops() > kMostOnPage) return;
  if (validate_structure(schedule).empty()) {
    require(study::hang_page(schedule, true).empty() == diagnostics.empty());
    const std::string hang = io::written_json(io::kReportStyle, [&](io::JsonWriter& out) {
      out.object();
      study::write_hang(out, schedule);
      out.close();
    });
    require((hang == "{}") == diagnostics.empty());
  }
  if (diagnostics.empty()) require(!study::slots_page(schedule).empty());
}

/// As `validate` has them of a file of PyTorch's, for every release and the run that it seems to be for.
inline void check_torch_pages(const std::string& text, const std::string& format) {
  const auto found = study::examine_torch(text, "schedule.csv", format);
  require(found.has_value());
  for (const study::Finding& one : study::torch_lint(*found, text)) require_one_line(one.message);
  (void)study::torch_problems(*found, text);
  (void)io::written_json(io::kReportStyle, [&](io::JsonWriter& out) {
    out.object();
    study::write_torch(out, *found);
    out.close();
  });
  if (found->lists.num_actions() > kMostOnPage) return;
  require(!study::torch_page(*found, true).empty());
  if (found->hangs()) (void)study::lowered_hang_page(found->lists, found->verdict.rank_of_stage, true);
}

/// Lowered for every release: each message meets its own unless receives were deferred, nothing hangs, and the text reads back.
inline void check_lowered(const Schedule& schedule, const torch::LowerOptions& options) {
  const ActionLists lists = torch::lower(schedule, options);
  const torch::Homes homes(schedule);
  require(torch::fits(lists, homes) && !torch::dry_run(lists, homes, torch::KeepGrid::No).stuck);
  require(options.defer_receives || torch::swapped_messages(lists, homes).empty());
  std::ostringstream out;
  io::write_torch_actions(out, lists);
  require(io::read_torch_actions(out.str(), "again").lists == lists);
  if (lists.num_actions() < 4 * kMostOnPage) check_torch_pages(out.str(), "torch-comms");
}

inline void check_lowering(const Schedule& schedule) {
  for (const torch::Target target : torch::kAllTargets)
    for (const bool other : {false, true}) {
      torch::LowerOptions options{.target = target, .defer_receives = other, .merge = other};
      if (other && target == torch::Target::V215) {
        options.max_active_stages = 2;
        options.lookahead.kind = torch::Lookahead::Kind::Auto;
        options.defer_reduce_waits = true;
        options.max_open_sends = 2;
      }
      if (!torch::refusal(options).empty()) options.defer_receives = false;
      try {
        check_lowered(schedule, options);
      } catch (const InputError& error) {
        // A group that PyTorch has no text for, or of too many stages; sends that cannot be limited.
        require_one_line(error.line());
      }
    }
}

/// Every format that is text and that these can be written as.
inline void check_formats(const io::Exported& exported) {
  for (const io::Format& format : io::all_formats()) {
    if (!format.write || format.binary || (format.needs_metrics && !exported.report)) continue;
    try {
      std::ostringstream out;
      format.write(out, exported);
      require(!out.str().empty());
    } catch (const Error& error) {  // what that format has no text for, or a run that is no whole schedule
      require(error.exit_code() == ExitCode::BadInput);
      require_one_line(error.line());
    }
  }
}

inline void check_formats(const Run& run) {
  io::Exported exported;
  exported.schedule = run.schedule.get();
  exported.timeline = &run.timeline;
  exported.costs = run.costs.get();
  exported.memory = run.memory.get();
  exported.report = [&run](std::ostream& out) { study::write_report(out, run, {true, true}); };
  check_formats(exported);
}

}  // namespace pipeloom::fuzz

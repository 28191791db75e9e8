#pragma once

// Everything that is wrong with a configuration or a schedule: what `pipeloom validate` and pages say.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <pipeloom/run.hpp>
#include <pipeloom/schedule.hpp>
#include <pipeloom/simulate.hpp>
#include "sim/io/traces/assemble.hpp"
#include "study/report/hang_page.hpp"
#include "study/report/torch_page.hpp"
#include "study/run/input.hpp"
#include "study/targets/verdict.hpp"

namespace pipeloom::study {

/// The findings of one file.
struct Findings {
  std::string name;
  std::shared_ptr<const Schedule> schedule;
  std::vector<Diagnostic> diagnostics;
  std::vector<std::string> warnings;
  std::string text;
  /// Of PyTorch's files only.
  std::optional<TorchFindings> torch;
  /// Of a trace of a real run.
  std::optional<io::TraceRun> trace;
  /// Of a configuration whose messages hang.
  std::optional<MessageProblem> message_hang;
  /// Of the framework that was asked about, where the order itself is legal.
  std::optional<TargetVerdict> verdict;

  [[nodiscard]] std::size_t problems() const {
    return diagnostics.size() + (torch ? torch->problems() : 0) + (message_hang ? 1 : 0);
  }
  [[nodiscard]] bool ok() const {
    return diagnostics.empty() && !message_hang && (!torch || torch->ok()) && (!verdict || verdict->taken());
  }
  [[nodiscard]] bool hangs() const;
};

/// The order of a trace, held against the rules as any other.
[[nodiscard]] Findings examine_trace(io::TraceRun trace, std::string name, const Target* target);
/// A schedule file, with what PyTorch says where it is one of PyTorch's. REQUIRES: input.schedule.
[[nodiscard]] Findings examine_schedule(const Input& input, std::optional<TorchFindings> torch,
                                        const Target* target);
/// A configuration: the proof that it can run is to run it. Throws as evaluate() does.
[[nodiscard]] Findings examine_configuration(const Input& input, Limits limits, const Target* target);

/// The keys of `pipeloom validate --json`; ends in a newline.
[[nodiscard]] std::string findings_json(const Findings& findings);

}  // namespace pipeloom::study

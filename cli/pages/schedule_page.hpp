#pragma once

// The page of `pipeloom schedules NAME`.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <pipeloom/metrics.hpp>
#include <pipeloom/simulate.hpp>
#include "cli/console.hpp"
#include "schedules/generator.hpp"

namespace pipeloom::cli {

/// Name, other names, requirements, options with their legal values, source, when to choose the schedule, the picture of
/// the example with its costs against 1f1b, every closed form with its value and the simulated one, the variants side by
/// side, and the command that makes the picture.
[[nodiscard]] std::string schedule_page(const schedules::Generator& generator, const Screen& screen);

/// The same as a JSON object, without the picture.
[[nodiscard]] std::string schedule_json(const schedules::Generator& generator);

// The small run that the page of a schedule shows, and its closed forms next to the simulated values.

/// A simulated run with F 1, B 2, I 1, W 1 per chunk pass and no transfers: what a configuration without costs means.
struct ScheduleExample {
  Params params;
  Timeline timeline;
  Metrics metrics;

  /// Largest peak of live activations of any rank, in microbatches of all its layers: peak_live / (v n), so that schedules
  /// with other numbers of chunks or slices compare.
  [[nodiscard]] double peak_microbatches() const;
};

/// The parameters of a schedule's picture: p = 4, m = 8 and the default chunks, slices and variant where these are legal, else
/// the nearest more microbatches that are; at most two updates, since more of them look alike.
[[nodiscard]] Params example_params(const schedules::Generator& generator);
/// Makes and simulates. REQUIRES: the parameters are legal.
[[nodiscard]] ScheduleExample make_example(const schedules::Generator& generator, const Params& params);

/// A closed form at an example, by rank; one entry where all ranks are the same.
struct FormValues {
  Params params;
  std::vector<std::string> value;      ///< of the formula; empty where its condition does not hold
  std::vector<std::string> simulated;  ///< of the simulation; empty where it has no such quantity
};
[[nodiscard]] FormValues values_of(const schedules::ClosedForm& form, const ScheduleExample& example);

/// The same for the legal number of microbatches nearest to the example's, up to 64, with which the condition holds.
[[nodiscard]] std::optional<FormValues> values_elsewhere(const schedules::Generator& generator,
                                                         const schedules::ClosedForm& form,
                                                         const ScheduleExample& example);

}  // namespace pipeloom::cli

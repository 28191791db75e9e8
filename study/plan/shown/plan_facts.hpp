#pragma once

// What a plan was made for, and what it takes for granted: the lines above its table, and "workload" in JSON.

#include <string>
#include <vector>

#include "sim/estimate/estimate.hpp"
#include "sim/io/json/json_writer.hpp"
#include "study/plan/plan.hpp"

namespace pipeloom::study {

/// One line each: the model on its devices, the batch, what ranks may hold, how far such estimates were off; of a workload without a model its shape
/// and whether anything says what ops cost.
[[nodiscard]] std::vector<std::string> fact_lines(const Plan& plan);
/// "70 % of exchanges hidden", or a share for each kind of ranks.
[[nodiscard]] std::string hidden_text(const estimate::Setting& setting);
// Two of these lines, for pages with others: what a rank may hold, "" where that is not known, and how far estimates were off.
[[nodiscard]] std::string room_line(const Plan& plan);
[[nodiscard]] std::string accuracy_line(const estimate::Setting& setting);

/// The object that the schema `plan` has as "workload"; null where a number is not known.
void write_facts(io::JsonWriter& out, const Plan& plan);

}  // namespace pipeloom::study

#include "study/sweep/evaluator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/text.hpp"
#include "study/evaluate.hpp"

namespace pipeloom::sweep {
namespace {

std::string over_limit_text(const OverLimit& over) {
  return fmt::format(
      "over the memory limit: rank {} needs {} bytes at {}, the limit is {} bytes; take a schedule or a "
      "placement with fewer live activations, or raise memory.limit_bytes",
      over.rank.value(), over.bytes, to_text(over.op), over.limit);
}

}  // namespace

std::vector<std::string> default_metrics() {
  return {"makespan", "bubble_ratio", "peak_activation_bytes"};
}

class Evaluator::Cache {};

std::shared_ptr<Evaluator::Cache> Evaluator::make_cache(std::size_t /*max_bytes*/) {
  return std::make_shared<Cache>();
}

struct Evaluator::State {
  std::vector<std::string> names;
  std::vector<const study::Metric*> metrics;
  study::Limits limits;
  std::shared_ptr<Cache> cache;
};

Evaluator::Evaluator(std::vector<std::string> metrics, study::Limits limits, std::shared_ptr<Cache> cache)
    : state_(std::make_unique<State>()) {
  for (const std::string& name : metrics) state_->metrics.push_back(&study::find_metric(name));
  state_->names = std::move(metrics);
  state_->limits = limits;
  state_->limits.critical_path_entries = 0;
  if (std::find(state_->names.begin(), state_->names.end(), "lower_bound") == state_->names.end())
    state_->limits.bound_entries = 0;
  state_->cache = std::move(cache);
}

Evaluator::~Evaluator() = default;
Evaluator::Evaluator(Evaluator&&) noexcept = default;
Evaluator& Evaluator::operator=(Evaluator&&) noexcept = default;

const std::vector<std::string>& Evaluator::metrics() const {
  return state_->names;
}

void Evaluator::evaluate(const io::RunConfig& config, Outcome& out) {
  out.metrics.clear();
  out.error.clear();
  try {
    const study::Evaluation run = study::evaluate(config, state_->limits);
    out.status = run.over_limit ? Status::OverMemory : Status::Ok;
    if (run.over_limit) out.error = over_limit_text(*run.over_limit);
    for (const study::Metric* metric : state_->metrics) out.metrics.push_back(metric->text(run));
  } catch (const InternalError&) {
    throw;
  } catch (const Error& error) {
    out.status = study::status_of(error);
    out.error = error.line();
  }
}

}  // namespace pipeloom::sweep

#include "study/sweep/run/schedule_cache.hpp"

#include <functional>
#include <utility>

namespace pipeloom::sweep {
namespace {

/// Places in the configuration to which an error about its schedule may point.
std::string places_of(const io::Config& config) {
  std::string text;
  for (const io::Key& key : io::config_keys()) {
    const bool matters = key.group == io::KeyClass::Shape || key.group == io::KeyClass::Option;
    if (!matters || !config.given.has(io::id_of(key))) continue;
    text += key.path;
    text += ' ' + config.place_of(key.path).text() + '\n';
  }
  return text;
}

/// Every number that may decide an order.
std::vector<std::int64_t> numbers_of(const Terms& terms) {
  std::vector<std::int64_t> out;
  const auto add = [&out](const std::vector<std::int64_t>& numbers) {
    out.insert(out.end(), numbers.begin(), numbers.end());
  };
  for (const auto& durations : terms.costs.duration) add(durations);
  add(terms.costs.forward_delay);
  add(terms.costs.backward_delay);
  add(terms.costs.microbatch_scale);
  out.push_back(terms.costs.entry);
  out.push_back(terms.costs.rank_time);
  const MemoryModel& memory = terms.memory;
  for (const auto* table : {&memory.activation, &memory.released_at_input, &memory.static_bytes,
                            &memory.receive, &memory.logits, &memory.limit})
    add(*table);
  return out;
}

}  // namespace

ScheduleKey key_of(const io::Config& config, const study::SchedulePlan& plan) {
  ScheduleKey key;
  key.generator = plan.found.generator;
  key.params = plan.params;
  key.recompute_given = config.given.has("options.recompute");
  key.offload_given = config.given.has("options.offload");
  if (plan.terms != nullptr) key.terms = numbers_of(*plan.terms);
  if (key.generator != nullptr) return key;
  key.params.ranks = config.ranks;
  key.params.microbatches = config.microbatches;
  key.params.chunks = config.chunks.value_or(0);
  key.params.options = config.options;
  key.file = config.place_of("schedule").file + '\n' + config.options.file;
  key.steps = config.step.count;
  return key;
}

const Schedule* MadeSchedule::get(const study::SchedulePlan& plan, const io::Config& config,
                                  const Limits& limits, bool& made) {
  made = !ready_.load(std::memory_order_acquire) && generate(plan, config, limits);
  if (schedule_ == nullptr && places_ != places_of(config)) {
    schedules::Emission unused;
    (void)study::make_planned(plan, config, limits, unused);
  }
  return schedule_.get();
}

bool MadeSchedule::generate(const study::SchedulePlan& plan, const io::Config& config, const Limits& limits) {
  const std::lock_guard lock(mutex_);
  if (ready_.load(std::memory_order_relaxed)) return false;
  try {
    schedules::Emission unused;
    schedule_ = study::make_planned(plan, config, limits, unused);
  } catch (const InternalError&) {
    throw;
  } catch (const Error& error) {
    status_ = study::status_of(error);
    error_ = error.line();
    places_ = places_of(config);
  }
  ready_.store(true, std::memory_order_release);
  return true;
}

const FixedOrder* MadeSchedule::order(bool& made) {
  made = false;
  if (const FixedOrder* order = order_there_.load(std::memory_order_acquire)) return order;
  if (++uses_ < kUsesBeforeOrder || schedule_->is_extended()) return nullptr;
  // While one thread makes it, the others go on without.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return nullptr;
  if (order_ == nullptr) {
    order_ = std::make_unique<const FixedOrder>(*schedule_);
    order_there_.store(order_.get(), std::memory_order_release);
    made = true;
  }
  return order_.get();
}

std::shared_ptr<const std::vector<QueuePeaks>> MadeSchedule::peaks(const cost::MemorySpec& spec,
                                                                   const MemoryModel& model) {
  constexpr std::size_t kKept = 4;
  const std::lock_guard lock(mutex_);
  for (const Peaks& known : peaks_)
    if (cost::same_memory(known.spec, spec)) return known.ranks;
  Peaks found{spec, std::make_shared<const std::vector<QueuePeaks>>(measure_queues(*schedule_, model))};
  auto ranks = found.ranks;
  if (peaks_.size() < kKept)
    peaks_.push_back(std::move(found));
  else
    peaks_[next_peaks_++ % kKept] = std::move(found);
  return ranks;
}

std::size_t MadeSchedule::bytes() const {
  std::size_t bytes = sizeof(*this) + error_.capacity() + places_.capacity();
  if (schedule_ != nullptr) {
    const auto ranks = static_cast<std::size_t>(schedule_->ranks());
    const auto slots = static_cast<std::size_t>(schedule_->placement().slots());
    bytes += schedule_->num_ops() * sizeof(Op) + (ranks + slots) * 64;
  }
  if (const FixedOrder* order = order_there_.load(std::memory_order_acquire)) bytes += order->bytes();
  return bytes;
}

std::size_t Evaluator::Cache::Hash::operator()(const ScheduleKey& key) const {
  std::size_t hash = std::hash<const void*>()(key.generator);
  const auto mix = [&hash](std::size_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29;
  };
  const Params& p = key.params;
  for (const int value : {p.ranks, p.microbatches, p.chunks, key.steps}) mix(static_cast<std::size_t>(value));
  for (const io::Key& row : io::config_keys())
    if (row.mix != nullptr) hash = row.mix(p.options, hash);
  for (const std::int64_t number : key.terms) mix(static_cast<std::size_t>(number));
  mix(std::hash<std::string>()(key.file));
  mix((key.recompute_given ? 1U : 0U) + (key.offload_given ? 2U : 0U));
  return hash;
}

std::shared_ptr<MadeSchedule> Evaluator::Cache::find(const ScheduleKey& key) {
  const std::lock_guard lock(mutex_);
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    nodes_.splice(nodes_.begin(), nodes_, found->second);
    return found->second->made;
  }
  nodes_.push_front({key, std::make_shared<MadeSchedule>(), 0});
  by_key_.emplace(key, nodes_.begin());
  return nodes_.front().made;
}

void Evaluator::Cache::grown(const ScheduleKey& key, const MadeSchedule& made, bool generated) {
  const std::lock_guard lock(mutex_);
  if (generated) ++generated_;
  const auto found = by_key_.find(key);
  if (found == by_key_.end() || found->second->made.get() != &made) return;  // gone meanwhile
  const std::size_t bytes = made.bytes();
  bytes_ += bytes - found->second->bytes;
  found->second->bytes = bytes;
  while (bytes_ > max_bytes_ && !nodes_.empty()) {
    bytes_ -= nodes_.back().bytes;
    by_key_.erase(nodes_.back().key);
    nodes_.pop_back();
  }
}

CacheUse Evaluator::Cache::use() const {
  const std::lock_guard lock(mutex_);
  return {generated_, nodes_.size(), bytes_};
}

}  // namespace pipeloom::sweep

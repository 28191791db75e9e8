#include "executor/cuda/exchange/message_book.hpp"

#include <fmt/format.h>

#include <utility>

#include "executor/cuda/device/cuda_error.hpp"
#include "executor/run/exchange.hpp"

namespace pipeloom::executor::cuda {

MessageBook::MessageBook(std::shared_ptr<const RunPlan> plan, const std::vector<Rank>& local)
    : plan_(std::move(plan)),
      batches_(plan_->program.num_batches()),
      events_(plan_->program.messages().size()),
      measured_(events_.size() * static_cast<std::size_t>(plan_->all_steps())) {
  for (const Rank rank : local)
    for (const auto& [code, batch] : plan_->program.instructions(rank))
      if (code == Program::Code::Post)
        for (const Endpoint& end : plan_->program.batch(batch))
          if (!events_[end.message]) events_[end.message].emplace();
  if (plan_->options.checksums && !events_.empty())
    check(cudaMallocHost(reinterpret_cast<void**>(&sums_), events_.size() * sizeof(MessageSums)),
          "cudaMallocHost");
}

MessageBook::~MessageBook() {
  if (sums_ != nullptr) static_cast<void>(cudaFreeHost(sums_));
}

void MessageBook::collect(Rank rank, int step, const StepClock& clock, Starter starter) {
  for (const auto& [code, batch] : plan_->program.instructions(rank)) {
    if (code != Program::Code::Post) continue;
    for (const Endpoint& end : plan_->program.batch(batch))
      collect_end(batches_[batch], end, step, clock, starter);
    batches_[batch] = {};
  }
}

void MessageBook::collect_end(const BatchEvents& batch, const Endpoint& end, int step, const StepClock& clock,
                              Starter starter) {
  MeasuredMessage& message = measured_[static_cast<std::size_t>(step) * events_.size() + end.message];
  if (starter == Starter::Both || end.is_send == (starter == Starter::Sender))
    message.started = clock(started(end.message).get());
  (end.is_send ? message.sent : message.received) = clock(batch.posted);
  if (end.is_send) return;
  message.done = clock(done(end.message).get());
  message.waited = batch.arrived != nullptr && clock(batch.arrived) < message.done;
  if (sums_ != nullptr) compare_sums(end.message, step);
}

void MessageBook::compare_sums(MessageId message, int step) {
  if (sums_[message].sent == sums_[message].received) return;
  throw WrongMessage(fmt::format("{} has other bits than its sender gave it: sum {:016x}, sent {:016x}",
                                 name_of(plan_->program, instance_of(plan_->program, message, step)),
                                 sums_[message].received, sums_[message].sent));
}

}  // namespace pipeloom::executor::cuda

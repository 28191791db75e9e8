#include "sim/orders/bounds/one_rank.hpp"

#include <algorithm>
#include <limits>

namespace pipeloom::orders {

Ticks OneRank::bound(std::vector<Job>& jobs) {
  std::ranges::sort(jobs, {}, &Job::head);
  Ticks most = jobs.front().head + jobs.front().work + jobs.front().tail;
  Ticks now = 0;
  for (std::size_t next = 0; next < jobs.size() || !waiting_.empty();) {
    if (waiting_.empty()) now = std::max(now, jobs[next].head);
    for (; next < jobs.size() && jobs[next].head <= now; ++next)
      waiting_.push({jobs[next].tail, jobs[next].work});
    Waiting job = waiting_.top();
    waiting_.pop();
    const Ticks until = next < jobs.size() ? std::min(now + job.left, jobs[next].head) : now + job.left;
    job.left -= until - now;
    now = until;
    if (job.left > 0)
      waiting_.push(job);
    else
      most = std::max(most, now + job.tail);
  }
  return most;
}

Ticks OneRank::bound(std::span<const Line> lines) {
  first_.clear();
  for (const Line& line : lines) first_.push_back({line.heads.front(), line.tails.front(), line.work, 0});
  Ticks most = std::numeric_limits<Ticks>::lowest();
  Ticks now = 0;
  for (std::size_t open = lines.size(); open > 0;) {
    First* longest = nullptr;
    Ticks next = kMaxTicks;
    for (First& one : first_) {
      if (one.head > now)
        next = std::min(next, one.head);
      else if (longest == nullptr || one.tail > longest->tail)
        longest = &one;
    }
    if (longest == nullptr) {
      now = next;
      continue;
    }
    const Ticks until = std::min(now + longest->left, next);
    longest->left -= until - now;
    now = until;
    if (longest->left > 0) continue;
    most = std::max(most, now + longest->tail);
    if (!advance(lines[static_cast<std::size_t>(longest - first_.data())], *longest)) --open;
  }
  return most;
}

bool OneRank::advance(const Line& line, First& first) {
  first.at += line.step;
  const bool goes_on = first.at < line.heads.size();
  first.head = goes_on ? line.heads[first.at] : kMaxTicks;
  if (goes_on) first.tail = line.tails[first.at];
  first.left = line.work;
  return goes_on;
}

}  // namespace pipeloom::orders

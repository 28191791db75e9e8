#include "sim/orders/bounds/one_rank.hpp"

#include <algorithm>

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

}  // namespace pipeloom::orders

#include "gui/model/run/jobs.hpp"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "support/catch.hpp"

namespace jobs_test {

using pipeloom::gui::Cancelled;
using pipeloom::gui::Jobs;

namespace {

void wait_until_idle(Jobs& jobs) {
  while (!jobs.idle()) {
    jobs.poll();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

TEST_CASE("a job's result is taken on the thread that polls") {
  Jobs jobs;
  const auto here = std::this_thread::get_id();
  std::thread::id worked;
  std::thread::id finished;
  jobs.submit("lane", [&](const Cancelled&) -> Jobs::Finish {
    worked = std::this_thread::get_id();
    return [&] { finished = std::this_thread::get_id(); };
  });
  wait_until_idle(jobs);
  CHECK(worked != here);
  CHECK(finished == here);
}

TEST_CASE("of one lane the newest job counts, other lanes are not touched") {
  Jobs jobs;
  std::atomic<bool> go = false;
  std::vector<int> seen;
  const auto job = [&](int number, bool wait) {
    return [&seen, &go, number, wait](const Cancelled&) -> Jobs::Finish {
      while (wait && !go) std::this_thread::yield();
      return [&seen, number] { seen.push_back(number); };
    };
  };
  jobs.submit("a", job(0, true));  // runs until `go`
  jobs.submit("a", job(1, false));
  jobs.submit("b", job(2, false));
  jobs.submit("a", job(3, false));
  go = true;
  wait_until_idle(jobs);
  CHECK(seen == std::vector<int>{2, 3});
}

TEST_CASE("a running job learns that it is not wanted any more") {
  Jobs jobs;
  std::atomic<bool> started = false;
  std::atomic<bool> saw = false;
  jobs.submit("a", [&](const Cancelled& cancelled) -> Jobs::Finish {
    started = true;
    while (!cancelled) std::this_thread::yield();
    saw = true;
    return [] { FAIL("a cancelled job's result was used"); };
  });
  while (!started) std::this_thread::yield();
  jobs.cancel("a");
  wait_until_idle(jobs);
  CHECK(saw);
}

TEST_CASE("a job says how far it is, until it is cancelled") {
  Jobs jobs;
  std::atomic<bool> reported = false;
  CHECK_FALSE(jobs.progress());
  jobs.submit("search", [&](const Cancelled& cancelled) -> Jobs::Finish {
    cancelled.report(0.37);
    reported = true;
    while (!cancelled) std::this_thread::yield();
    return {};
  });
  while (!reported) std::this_thread::yield();
  CHECK(jobs.progress() == 0.37);
  jobs.cancel_all("sea");
  CHECK_FALSE(jobs.progress());
  wait_until_idle(jobs);
}

TEST_CASE("lanes are cancelled by what their names begin with") {
  Jobs jobs;
  std::atomic<bool> go = false;
  std::vector<int> seen;
  jobs.submit("first", [&](const Cancelled&) -> Jobs::Finish {
    while (!go) std::this_thread::yield();
    return {};
  });
  jobs.submit("open/a", [&](const Cancelled&) -> Jobs::Finish { return [&] { seen.push_back(1); }; });
  jobs.submit("open/b", [&](const Cancelled&) -> Jobs::Finish { return [&] { seen.push_back(2); }; });
  jobs.submit("other", [&](const Cancelled&) -> Jobs::Finish { return [&] { seen.push_back(3); }; });
  jobs.cancel_all("open/");
  go = true;
  wait_until_idle(jobs);
  CHECK(seen == std::vector<int>{3});
}

}  // namespace jobs_test

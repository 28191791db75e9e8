#include "support/viewer_rules.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace pipeloom::viewers {
namespace {

using nlohmann::json;
using Thread = std::pair<std::int64_t, std::int64_t>;

std::int64_t nanoseconds(const json& microseconds) {
  return std::llround(microseconds.get<double>() * 1000);
}

struct Event {
  const json* from = nullptr;
  std::int64_t start = 0;
  std::int64_t length = 0;
  [[nodiscard]] std::int64_t end() const { return start + length; }
  [[nodiscard]] std::string text() const {
    return fmt::format("{} on rank {} from {} to {} ns", (*from)["name"].get<std::string>(),
                       (*from)["pid"].get<int>(), start, end());
  }
};

class Viewer {
 public:
  Faults see(const json& trace) {
    for (const json& event : trace["traceEvents"]) {
      const std::string phase = event["ph"];
      if (phase == "M") name(event);
      if (phase != "X" && phase != "s" && phase != "f") continue;
      events_.push_back({&event, nanoseconds(event["ts"]), phase == "X" ? nanoseconds(event["dur"]) : 0});
    }
    std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
      return std::pair(a.start, -a.length) < std::pair(b.start, -b.length);
    });
    for (const auto& [thread, name] : names_)
      if (processes_.contains(thread.second))
        faults_.threads.push_back(name + " has the number of a process");
    for (const Event& event : events_) (*event.from)["ph"] == "X" ? begin(event) : join(event);
    return std::move(faults_);
  }

 private:
  void name(const json& event) {
    if (event["name"] == "process_name") processes_.insert(event["pid"].get<std::int64_t>());
    if (event["name"] != "thread_name") return;
    const std::string text = event["args"]["name"];
    if (!names_.emplace(thread_of(event), text).second) faults_.threads.push_back(text + " has two names");
  }

  /// Thread 0 of process n is thread n.
  static Thread thread_of(const json& event) {
    const std::int64_t process = event["pid"];
    const std::int64_t thread = event["tid"];
    return {process, thread == 0 ? process : thread};
  }

  void begin(const Event& event) {
    ++faults_.num_ops;
    std::vector<Event>& open = open_[thread_of(*event.from)];
    while (!open.empty() && open.back().end() <= event.start &&
           (open.back().length > 0 || open.back().start < event.start))
      open.pop_back();
    if (!open.empty() && event.end() > open.back().end()) {
      faults_.dropped.push_back(event.text());
      return;
    }
    if (!open.empty() && (event.length > 0 || open.back().length > 0)) faults_.nested.push_back(event.text());
    open.push_back(event);
  }

  void join(const Event& arrow) {
    const std::int64_t id = (*arrow.from)["id"];
    const std::vector<Event>& open = open_[thread_of(*arrow.from)];
    const json* const at = open.empty() ? nullptr : open.back().from;
    if ((*arrow.from)["ph"] == "s") {
      leaves_[id] = at;
      return;
    }
    const auto from = leaves_.find(id);
    if (from == leaves_.end() || from->second == nullptr || at == nullptr) {
      faults_.arrows.push_back(fmt::format("arrow {} has one end", id));
      return;
    }
    ++faults_.num_arrows;
    if (!is_message(*from->second, *at))
      faults_.arrows.push_back(fmt::format("arrow {} joins {} and {}", id,
                                           (*from->second)["name"].get<std::string>(),
                                           (*at)["name"].get<std::string>()));
    leaves_.erase(from);
  }

  /// Activations go to F of the next stage, gradients to B or I of the one before.
  static bool is_message(const json& from, const json& to) {
    const json& sent = from["args"];
    const json& taken = to["args"];
    const auto is_forward = [](const json& args) { return args["kind"] == "F"; };
    const auto slice = [](const json& event) {
      const std::string name = event["name"];
      return name.find('.') == std::string::npos ? std::string() : name.substr(name.find('.'));
    };
    const int away = is_forward(sent) ? 1 : -1;
    return from["pid"] != to["pid"] && is_forward(sent) == is_forward(taken) &&
           (is_forward(sent) || sent["kind"] == "B" || sent["kind"] == "I") &&
           (is_forward(taken) || taken["kind"] == "B" || taken["kind"] == "I") &&
           taken["stage"].get<int>() == sent["stage"].get<int>() + away && sent["step"] == taken["step"] &&
           sent["microbatch"] == taken["microbatch"] && slice(from) == slice(to);
  }

  Faults faults_;
  std::vector<Event> events_;
  std::set<std::int64_t> processes_;
  std::map<Thread, std::string> names_;
  std::map<Thread, std::vector<Event>> open_;
  std::map<std::int64_t, const json*> leaves_;  // arrows under way, and the op that each left
};

}  // namespace

std::string Faults::text() const {
  std::string out;
  const auto add = [&out](std::string_view what, const std::vector<std::string>& faults) {
    if (!faults.empty()) out += fmt::format("{} {}, first {}; ", faults.size(), what, faults.front());
  };
  add("dropped", dropped);
  add("nested", nested);
  add("wrong arrows", arrows);
  add("wrong threads", threads);
  return out;
}

Faults faults_of(std::string_view trace) {
  const json parsed = json::parse(trace);
  return Viewer().see(parsed);
}

}  // namespace pipeloom::viewers

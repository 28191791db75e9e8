#include "cli/run/run_progress.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pipeloom::cli {

std::function<void(int, int)> RunProgress::callback() {
  if (!line_.is_on()) return {};
  return [this](int over, int all) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
    std::string text = fmt::format("step {} of {}", std::min(over + 1, all), all);
    if (over > 0) text += fmt::format(", {} left", duration_text(passed.count() / over * (all - over)));
    line_.show(text);
  };
}

}  // namespace pipeloom::cli

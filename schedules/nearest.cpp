#include "schedules/nearest.hpp"

#include <fmt/format.h>

namespace pipeloom::schedules {

std::vector<int> nearest(int value, Interval interval, const std::function<bool(int)>& legal) {
  constexpr int kFarthest = 1024;
  std::vector<int> found;
  // A value outside the interval starts at the end that is nearer to it.
  const int down_from = value > interval.high ? interval.high : value - 1;
  for (int i = down_from; i >= interval.low && i > down_from - kFarthest; --i)
    if (legal(i)) {
      found.push_back(i);
      break;
    }
  const int up_from = value < interval.low ? interval.low : value + 1;
  for (int i = up_from; i <= interval.high && i < up_from + kFarthest; ++i)
    if (legal(i)) {
      found.push_back(i);
      break;
    }
  return found;
}

std::string try_text(const std::vector<int>& values) {
  if (values.empty()) return "";
  std::string text = "; try ";
  for (std::size_t i = 0; i < values.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == values.size() ? " or " : ", ", values[i]);
  return text;
}

}  // namespace pipeloom::schedules

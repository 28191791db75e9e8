#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include <pipeloom/error.hpp>
#include "sim/base/number_text.hpp"
#include "sim/base/text_tools.hpp"

namespace pipeloom {
namespace {

constexpr std::size_t kShown = 80;
constexpr std::size_t kShownPlace = 200;
/// A message lists all valid names where they take no more letters than that, else the kMostListed nearest.
constexpr std::size_t kMostLetters = 300;
constexpr std::size_t kMostListed = 10;

/// All of `valid` if they are short, else those that look most like `name`, in the order of `valid`.
std::vector<std::string> listed_names(std::string_view name, const std::vector<std::string>& valid) {
  std::size_t letters = 0;
  for (const std::string& one : valid) letters += one.size() + 2;
  return letters <= kMostLetters ? valid : nearest_names(name, valid, kMostListed);
}

}  // namespace

std::string Where::text() const {
  // Longer than other names: editors and CI servers open this place.
  std::string shown = shortened(file, kShownPlace);
  if (line <= 0) return shown;
  if (column <= 0) return fmt::format("{}:{}", shown, line);
  return fmt::format("{}:{}:{}", shown, line, column);
}

std::string Error::line() const {
  const std::string place = where_.text();
  // The parts of a message that come from an input are printable already; the system's and the packages' own words may hold anything.
  const std::string message = printable_lines(what());
  return place.empty() ? "error: " + message : fmt::format("{}: error: {}", place, message);
}

std::string shortened(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return printable(text);
  constexpr std::string_view kCut = "...";
  const std::size_t room = limit > kCut.size() ? limit - kCut.size() : 0;
  // Neither half may begin or end within a character; none has more than three bytes that go on with one.
  const auto is_inside = [&text](std::size_t i) {
    return (static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U;
  };
  std::size_t head = room - room / 2;
  for (int i = 0; i < 3 && head > 0 && is_inside(head); ++i) --head;
  std::size_t tail = text.size() - room / 2;
  for (int i = 0; i < 3 && tail < text.size() && is_inside(tail); ++i) ++tail;
  return printable(printable(text.substr(0, head)).append(kCut).append(printable(text.substr(tail))));
}

InputError InputError::unknown_name(Where where, std::string_view what, std::string_view name,
                                    const std::vector<std::string>& valid) {
  const std::string nearest = nearest_name(name, valid);
  const std::string hint =
      nearest.empty() ? "" : fmt::format("did you mean '{}'? ", shortened(nearest, kShown));
  std::vector<std::string> listed = listed_names(name, valid);
  const std::size_t left_out = valid.size() - listed.size();
  for (std::string& one : listed) one = shortened(one, kShown / 2);
  return {std::move(where),
          fmt::format("unknown {} '{}'; {}valid: {}{}", what, shortened(name, kShown), hint,
                      fmt::join(listed, ", "), left_out > 0 ? fmt::format(" and {} more", left_out) : "")};
}

InputError InputError::cannot_read(std::string_view path, std::string_view reason) {
  return InputError(Where{std::string(path)},
                    fmt::format("cannot read it: {}; check the path and its permissions", reason));
}

InputError InputError::exists(std::string_view path) {
  return InputError(Where{std::string(path)},
                    "the file exists already; use --force to overwrite it, or another name");
}

TooLargeError InputError::too_large(std::string_view what, double need_bytes, double limit_bytes) {
  return TooLargeError(
      fmt::format("{} would need about {}, more than the {} allowed; make it smaller or raise --max-memory",
                  what, estimated_bytes_text(need_bytes), estimated_bytes_text(limit_bytes)));
}

SystemError SystemError::cannot_write(std::string_view path, std::string_view reason) {
  return SystemError(fmt::format("cannot write '{}': {}", shortened(path, kShownPlace), reason));
}

}  // namespace pipeloom

#pragma once

// The parts of C++20's library that our sources use and libc++ 13 lacks (the packaged emscripten has it). The preset `wasm` puts this in front of every
// source; newer libraries have all of it, and then this is empty. Algorithms take ranges, predicates and projections as the standard's do, and return
// iterators of what they were given; they are functions and no objects.

#include <version>

#ifdef _LIBCPP_VERSION

#ifndef __cpp_lib_ranges

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <type_traits>
#include <utility>

namespace pipeloom::compat {

template <class Test, class Project>
auto tested(Test& test, Project& project) {
  return [&](auto&& one) -> bool {
    return std::invoke(test, std::invoke(project, std::forward<decltype(one)>(one)));
  };
}
template <class Less, class Project>
auto compared(Less& less, Project& project) {
  return [&](auto&& a, auto&& b) -> bool {
    return std::invoke(less, std::invoke(project, std::forward<decltype(a)>(a)),
                       std::invoke(project, std::forward<decltype(b)>(b)));
  };
}
template <class Value, class Project>
auto equals(const Value& value, Project& project) {
  return [&](auto&& one) -> bool { return std::invoke(project, std::forward<decltype(one)>(one)) == value; };
}

template <class T>
concept Iterable = requires(T& range) {
  std::begin(range);
  std::end(range);
};

}  // namespace pipeloom::compat

namespace std::ranges {

namespace pl = pipeloom::compat;

template <class R, class Test, class P = std::identity>
bool any_of(R&& range, Test test, P project = {}) {
  return std::any_of(std::begin(range), std::end(range), pl::tested(test, project));
}
template <class R, class Test, class P = std::identity>
bool all_of(R&& range, Test test, P project = {}) {
  return std::all_of(std::begin(range), std::end(range), pl::tested(test, project));
}
template <class R, class Test, class P = std::identity>
bool none_of(R&& range, Test test, P project = {}) {
  return std::none_of(std::begin(range), std::end(range), pl::tested(test, project));
}
template <class R, class Value, class P = std::identity>
auto find(R&& range, const Value& value, P project = {}) {
  return std::find_if(std::begin(range), std::end(range), pl::equals(value, project));
}
template <class R, class Test, class P = std::identity>
auto find_if(R&& range, Test test, P project = {}) {
  return std::find_if(std::begin(range), std::end(range), pl::tested(test, project));
}
template <class R, class Test, class P = std::identity>
auto find_if_not(R&& range, Test test, P project = {}) {
  return std::find_if_not(std::begin(range), std::end(range), pl::tested(test, project));
}
template <class R, class Value, class P = std::identity>
auto count(R&& range, const Value& value, P project = {}) {
  return std::count_if(std::begin(range), std::end(range), pl::equals(value, project));
}
template <class R, class Test, class P = std::identity>
auto count_if(R&& range, Test test, P project = {}) {
  return std::count_if(std::begin(range), std::end(range), pl::tested(test, project));
}
template <class R, class Less = std::less<>, class P = std::identity>
auto adjacent_find(R&& range, Less test, P project = {}) {
  return std::adjacent_find(std::begin(range), std::end(range), pl::compared(test, project));
}
template <class R>
auto adjacent_find(R&& range) {
  return std::adjacent_find(std::begin(range), std::end(range));
}
template <class R, class Do>
void for_each(R&& range, Do act) {
  std::for_each(std::begin(range), std::end(range), std::move(act));
}
template <class A, class B, class Same = std::equal_to<>, class PA = std::identity, class PB = std::identity>
bool equal(A&& a, B&& b, Same same = {}, PA project_a = {}, PB project_b = {}) {
  return std::equal(std::begin(a), std::end(a), std::begin(b), std::end(b),
                    [&](const auto& x, const auto& y) -> bool {
                      return std::invoke(same, std::invoke(project_a, x), std::invoke(project_b, y));
                    });
}

template <class R, class Value>
void fill(R&& range, const Value& value) {
  std::fill(std::begin(range), std::end(range), value);
}
template <class R, class Out>
auto move(R&& range, Out out) {
  return std::move(std::begin(range), std::end(range), out);
}
template <class R>
void reverse(R&& range) {
  std::reverse(std::begin(range), std::end(range));
}
template <class R, class Value>
void replace(R&& range, const Value& before, const Value& after) {
  std::replace(std::begin(range), std::end(range), before, after);
}

template <class R, class Less = std::less<>, class P = std::identity>
void sort(R&& range, Less less = {}, P project = {}) {
  std::sort(std::begin(range), std::end(range), pl::compared(less, project));
}
template <class R, class Less = std::less<>, class P = std::identity>
void stable_sort(R&& range, Less less = {}, P project = {}) {
  std::stable_sort(std::begin(range), std::end(range), pl::compared(less, project));
}
template <class R, class I, class Less = std::less<>, class P = std::identity>
void nth_element(R&& range, I nth, Less less = {}, P project = {}) {
  std::nth_element(std::begin(range), nth, std::end(range), pl::compared(less, project));
}
template <class R, class Less = std::less<>, class P = std::identity>
bool is_sorted(R&& range, Less less = {}, P project = {}) {
  return std::is_sorted(std::begin(range), std::end(range), pl::compared(less, project));
}
template <class R, class Value, class Less = std::less<>>
bool binary_search(R&& range, const Value& value, Less less = {}) {
  return std::binary_search(std::begin(range), std::end(range), value, less);
}
template <class R, class Value, class Less = std::less<>, class P = std::identity>
auto lower_bound(R&& range, const Value& value, Less less = {}, P project = {}) {
  return std::lower_bound(
      std::begin(range), std::end(range), value,
      [&](const auto& a, const auto& b) -> bool { return std::invoke(less, std::invoke(project, a), b); });
}
template <class R, class Value, class Less = std::less<>, class P = std::identity>
auto upper_bound(R&& range, const Value& value, Less less = {}, P project = {}) {
  return std::upper_bound(
      std::begin(range), std::end(range), value,
      [&](const auto& a, const auto& b) -> bool { return std::invoke(less, a, std::invoke(project, b)); });
}

template <class R, class Less = std::less<>, class P = std::identity>
auto max_element(R&& range, Less less = {}, P project = {}) {
  return std::max_element(std::begin(range), std::end(range), pl::compared(less, project));
}
template <class R, class Less = std::less<>, class P = std::identity>
auto min_element(R&& range, Less less = {}, P project = {}) {
  return std::min_element(std::begin(range), std::end(range), pl::compared(less, project));
}
template <pl::Iterable R, class Less = std::less<>, class P = std::identity>
auto max(R&& range, Less less = {}, P project = {}) {
  return *std::max_element(std::begin(range), std::end(range), pl::compared(less, project));
}
template <pl::Iterable R, class Less = std::less<>, class P = std::identity>
auto min(R&& range, Less less = {}, P project = {}) {
  return *std::min_element(std::begin(range), std::end(range), pl::compared(less, project));
}
template <class T>
T max(std::initializer_list<T> values) {
  return std::max(values);
}
template <class T>
T min(std::initializer_list<T> values) {
  return std::min(values);
}
template <class T>
struct min_max_result {
  T min;
  T max;
};
template <pl::Iterable R, class Less = std::less<>, class P = std::identity>
auto minmax(R&& range, Less less = {}, P project = {}) {
  const auto found = std::minmax_element(std::begin(range), std::end(range), pl::compared(less, project));
  return min_max_result<std::decay_t<decltype(*found.first)>>{*found.first, *found.second};
}

}  // namespace std::ranges

#endif  // __cpp_lib_ranges

#if !defined(__cpp_lib_to_chars) && _LIBCPP_VERSION < 14000

#include <algorithm>
#include <charconv>

#include "web/compat/double_text.hpp"

namespace std {

inline to_chars_result to_chars(char* first, char* last, double value, chars_format format) {
  const string text = pipeloom::compat::double_text(value, format);
  if (static_cast<size_t>(last - first) < text.size()) return {last, errc::value_too_large};
  return {std::copy(text.begin(), text.end(), first), errc()};
}
inline to_chars_result to_chars(char* first, char* last, double value) {
  return std::to_chars(first, last, value, chars_format{});
}

}  // namespace std

#endif

#if !defined(__cpp_lib_to_chars) && _LIBCPP_VERSION < 200000

#include <charconv>

#include "web/compat/double_text.hpp"

namespace std {

inline from_chars_result from_chars(const char* first, const char* last, double& value) {
  const auto read = pipeloom::compat::read_double({first, static_cast<size_t>(last - first)});
  if (read.error == errc()) value = read.value;
  return {first + read.length, read.error};
}

}  // namespace std

#endif

#ifndef __cpp_lib_bit_cast

#include <cstring>
#include <type_traits>

namespace std {

template <class To, class From>
To bit_cast(const From& from) noexcept {
  static_assert(sizeof(To) == sizeof(From) && is_trivially_copyable_v<To> && is_trivially_copyable_v<From>);
  To out;
  std::memcpy(&out, &from, sizeof out);
  return out;
}

}  // namespace std

#endif

#ifndef __cpp_lib_jthread

#include <thread>
#include <utility>

namespace std {

/// A thread that its destructor joins; without stop tokens, which we do not use.
class jthread {
 public:
  jthread() noexcept = default;
  template <class Work, class... Arguments>
  explicit jthread(Work&& work, Arguments&&... arguments)
      : thread_(std::forward<Work>(work), std::forward<Arguments>(arguments)...) {}
  jthread(jthread&&) noexcept = default;
  jthread& operator=(jthread&&) = delete;
  ~jthread() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  thread thread_;
};

}  // namespace std

#endif

#endif  // _LIBCPP_VERSION

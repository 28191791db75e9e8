#pragma once

// Root causes of a run's idle time: found in a job once the run is shown, and kept while it is open.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gui/model/session/session.hpp"
#include "sim/roots/root_causes.hpp"

namespace pipeloom::gui {

struct RunRoots {
  explicit RunRoots(RunPtr of);

  RunPtr run;  ///< the finder looks into it
  RootFinder finder;
  /// The root causes of all its gaps, the largest first; amounts sum to its idle time.
  std::vector<RootCause> causes;
};

/// True if root causes are sought: not for runs that hang, that are still being analysed, or that have more ops than kMostRootOps.
[[nodiscard]] bool has_roots(const RunModel& run);
inline constexpr std::size_t kMostRootOps = std::size_t{1} << 19;

/// The place of a cause: its op, or else the gap with the largest part of it.
[[nodiscard]] std::variant<OpRef, GapRef> place_of(const RunModel& run, const RootCause& root);

/// "Root cause: F and B of stage 3 take 1.6 x as long as the others'."; of several parts each with its length. "" of none.
[[nodiscard]] std::string roots_text(const RunModel& run, std::span<const RootCause> parts);
/// More parts are not listed.
inline constexpr std::size_t kMostRootsListed = 3;

class Roots : public Part {
 public:
  explicit Roots(Session&) {}
  /// Null until they are found; has a job find them where there are any.
  [[nodiscard]] const RunRoots* find(Session& session, const RunPtr& run);
  /// Null until they are found.
  [[nodiscard]] const RunRoots* ready(std::uint64_t run) const;
  bool update(Session& session) override;

  static constexpr const char* kLane = "analyse/roots";

 private:
  std::vector<std::shared_ptr<const RunRoots>> found_;
  std::uint64_t under_way_ = 0;
};

/// Selects where the `number`-th cause of the active run, counted from 0, is seen, and brings it into view; "" is the largest.
void select_root(Session& session, std::string_view number);

}  // namespace pipeloom::gui

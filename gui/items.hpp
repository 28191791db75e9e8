#pragma once

// The places of the frame's widgets: id -> rectangle. Scripts click on ids instead of coordinates, the state dump lists them, and tests
// can prove that a widget is there. Ids are "panel/name": "params/ranks", "legend:F".

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace pipeloom::gui {

struct ItemRect {
  float x0 = 0;
  float y0 = 0;
  float x1 = 0;
  float y1 = 0;
  [[nodiscard]] float centre_x() const { return (x0 + x1) / 2; }
  [[nodiscard]] float centre_y() const { return (y0 + y1) / 2; }
};

class Items {
 public:
  /// Switches recording, which is off by default: it costs a string per widget, and only scripts and state dumps look.
  void record(bool on) { recording_ = on; }
  [[nodiscard]] bool recording() const { return recording_; }
  void begin_frame() { current_.clear(); }
  void add(std::string_view id, const ItemRect& rect) {
    if (recording_) current_.insert_or_assign(std::string(id), rect);
  }
  [[nodiscard]] const std::map<std::string, ItemRect>& all() const { return current_; }
  [[nodiscard]] std::optional<ItemRect> find(std::string_view id) const {
    const auto found = current_.find(std::string(id));
    return found == current_.end() ? std::nullopt : std::optional(found->second);
  }
  /// A script is about to use this item: the next frame scrolls it into view.
  void want(std::string id) { wanted_ = std::move(id); }
  [[nodiscard]] const std::string& wanted() const { return wanted_; }
  /// Returns true if this is the item wanted; then it no longer is.
  [[nodiscard]] bool take_wanted(std::string_view id) {
    if (wanted_.empty() || wanted_ != id) return false;
    wanted_.clear();
    return true;
  }

 private:
  std::string wanted_;
  bool recording_ = false;
  std::map<std::string, ItemRect> current_;
};

}  // namespace pipeloom::gui

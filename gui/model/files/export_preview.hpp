#pragma once

// The picture that an export would write, drawn as small as a sheet has room for. It follows every choice, and is drawn in a job.

#include <cstdint>
#include <memory>
#include <string>

#include "gui/model/files/export.hpp"
#include "gui/model/session/part.hpp"
#include "sim/io/pictures/pictures.hpp"

namespace pipeloom::gui {

class ExportPreview : public Part {
 public:
  explicit ExportPreview(Session&) {}

  /// Once per frame while it is shown: starts to draw it where the choices, the runs or the room have changed. `width` and `height` are the room
  /// in pixels.
  void want(Session& session, const ExportOptions& options, int width, int height);
  /// Null until the first is there.
  [[nodiscard]] const std::shared_ptr<const io::DrawnPixels>& pixels() const { return pixels_; }
  /// Changes with pixels().
  [[nodiscard]] std::uint64_t revision() const { return revision_; }
  /// "1600 x 918 pixels", "85 x 49 mm": the size of the picture; "" until it is known.
  [[nodiscard]] const std::string& size_text() const { return size_; }
  /// The reason for which there is no picture, "" if there is one.
  [[nodiscard]] const std::string& problem() const { return problem_; }

  [[nodiscard]] std::string_view state_key() const override { return "export_preview"; }
  /// {"size", "problem", "width", "height"}: the last two are of the small picture.
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  std::string key_;
  std::uint64_t revision_ = 0;
  std::shared_ptr<const io::DrawnPixels> pixels_;
  std::string size_;
  std::string problem_;
};

}  // namespace pipeloom::gui

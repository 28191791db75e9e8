#include "study/plan/shown/plan_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/draw/box.hpp"
#include "sim/draw/palette.hpp"
#include "study/answers/select.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::study {
namespace {

constexpr double kWidth = 900;
constexpr double kHeight = 520;
constexpr double kTop = 44;
constexpr double kRight = 24;
constexpr double kBottom = 48;
constexpr double kFont = 12;
constexpr double kMark = 9;
/// Whose colours points have.
constexpr OpKind kPublished = OpKind::Forward;
constexpr OpKind kSearched = OpKind::BackwardInput;
constexpr std::size_t kMarksAcross = 7;
constexpr std::size_t kMarksUp = 6;

/// The limit in the candidate's own measure of its peak; nothing where there is none, or ranks differ.
std::optional<double> limit_of(const PlanCandidate& candidate) {
  const std::vector<Bytes>& limit = candidate.run.memory->limit;
  if (limit.empty()) return std::nullopt;
  const auto [low, high] = std::ranges::minmax(limit);
  if (low != high) return std::nullopt;
  return candidate.said(high);
}

class Picture {
 public:
  explicit Picture(const Plan& plan)
      : plan_(plan),
        unit_(plan.candidates.front().run.timeline.unit),
        relative_(plan.activation > 0),
        limit_(limit_of(plan.candidates.front())),
        colours_(draw::surface_of(draw::Theme::Light)) {
    set_scales();
    for (const sweep::AxisMark& mark : y_.marks(kMarksUp))
      left_ = std::max(left_, draw::text_width(mark.text, kFont) + 24);
  }

  draw::Scene drawn() {
    scene_.width = kWidth;
    scene_.height = kHeight;
    rectangle({0, 0, kWidth, kHeight}, colours_.background, draw::Role::Background);
    add_axes();
    add_legend();
    add_limit();
    add_front();
    add_points();
    add_names();
    return std::move(scene_);
  }

 private:
  [[nodiscard]] double step(const PlanCandidate& candidate) const {
    return to_double(candidate.step_time, unit_);
  }
  /// Along the axis: bytes, or activations.
  [[nodiscard]] double along(double peak) const { return relative_ ? peak / plan_.activation : peak; }
  [[nodiscard]] bool is_own(const PlanCandidate& candidate) const {
    return plan_.baseline && &candidate == &*plan_.baseline;
  }
  /// Candidates, and what runs now where it is none of them.
  [[nodiscard]] std::vector<const PlanCandidate*> points() const {
    std::vector<const PlanCandidate*> out;
    for (const PlanCandidate& candidate : plan_.candidates) out.push_back(&candidate);
    if (plan_.baseline && !plan_.baseline_among) out.push_back(&*plan_.baseline);
    return out;
  }

  void set_scales() {
    double left = along(limit_.value_or(plan_.candidates.front().peak));
    double right = left;
    double low = step(plan_.candidates.front());
    double high = low;
    for (const PlanCandidate* one : points()) {
      left = std::min(left, along(one->peak));
      right = std::max(right, along(one->peak));
      low = std::min(low, step(*one));
      high = std::max(high, step(*one));
    }
    x_ = sweep::Scale(left, right, relative_ ? Unit::Count : Unit::Bytes);
    y_ = sweep::Scale(low, high, Unit::Time);
  }

  [[nodiscard]] double x_at(double value) const {
    return left_ + x_.place(value) * (kWidth - kRight - left_);
  }
  [[nodiscard]] double y_at(double value) const {
    return kHeight - kBottom - y_.place(value) * (kHeight - kBottom - kTop);
  }

  void rectangle(const draw::Box& box, draw::Colour fill, draw::Role role,
                 std::uint32_t title = draw::kNoTitle) {
    draw::Rectangle out;
    out.x = box.left;
    out.y = box.top;
    out.width = box.right - box.left;
    out.height = box.bottom - box.top;
    out.fill = fill;
    out.role = role;
    out.title = title;
    scene_.shapes.emplace_back(out);
  }
  void line(double x1, double y1, double x2, double y2, draw::Colour colour, draw::Role role,
            bool dashed = false) {
    scene_.shapes.emplace_back(draw::Line{x1, y1, x2, y2, colour, 1, dashed, role});
  }
  void text(double x, double y, std::string words, draw::Colour colour,
            draw::Align align = draw::Align::Start, draw::Role role = draw::Role::Label) {
    scene_.shapes.emplace_back(draw::Text{x, y, kFont, std::move(words), colour, align, false, role});
  }

  void add_axes() {
    const std::string time =
        unit_ == TimeUnit::Unit ? "step time" : fmt::format("step time [{}]", name_of(unit_));
    text(left_, kTop - 22, time, colours_.text, draw::Align::Start, draw::Role::Title);
    for (const sweep::AxisMark& mark : y_.marks(kMarksUp)) {
      line(left_, y_at(mark.value), kWidth - kRight, y_at(mark.value), colours_.grid, draw::Role::Grid);
      text(left_ - 8, y_at(mark.value) + 4, mark.text, colours_.text, draw::Align::End);
    }
    for (const sweep::AxisMark& mark : x_.marks(kMarksAcross)) {
      line(x_at(mark.value), kTop, x_at(mark.value), kHeight - kBottom, colours_.grid, draw::Role::Grid);
      text(x_at(mark.value), kHeight - kBottom + 18, mark.text, colours_.text, draw::Align::Middle);
    }
    line(left_, kHeight - kBottom, kWidth - kRight, kHeight - kBottom, colours_.axis, draw::Role::Axis);
    line(left_, kTop, left_, kHeight - kBottom, colours_.axis, draw::Role::Axis);
    text(kWidth - kRight, kHeight - 10,
         relative_ ? "peak of the fullest rank, in activations of a stage of what runs now"
                   : "peak of the fullest rank",
         colours_.text, draw::Align::End, draw::Role::Title);
  }

  /// What the colours of points tell, from the right.
  void add_legend() {
    double x = kWidth - kRight;
    for (const auto& [kind, words] :
         {std::pair{kSearched, "searched order"}, std::pair{kPublished, "published"}}) {
      text(x, kTop - 22, words, colours_.text, draw::Align::End, draw::Role::Legend);
      x -= draw::text_width(words, kFont) + 6;
      rectangle({x - kMark, kTop - 22 - kMark, x, kTop - 22}, draw::kind_colour(draw::Theme::Light, kind),
                draw::Role::Legend);
      x -= kMark + 18;
    }
  }

  void add_limit() {
    if (!limit_) return;
    line(x_at(along(*limit_)), kTop, x_at(along(*limit_)), kHeight - kBottom, colours_.memory_limit,
         draw::Role::MemoryLimit, true);
    text(x_at(along(*limit_)), kTop - 6, "limit", colours_.memory_limit, draw::Align::Middle);
  }

  /// Between two of its points a plan can be had that takes what the one with less memory does.
  void add_front() {
    draw::Polyline steps;
    steps.stroke = colours_.critical;
    steps.stroke_width = 2;
    steps.role = draw::Role::MemoryLine;
    for (const std::size_t i : plan_.pareto) {
      const PlanCandidate& one = plan_.candidates[i];
      if (!steps.points.empty()) steps.points.push_back({steps.points.back().x, y_at(step(one))});
      steps.points.push_back({x_at(along(one.peak)), y_at(step(one))});
    }
    scene_.shapes.emplace_back(std::move(steps));
  }

  void add_points() {
    for (const PlanCandidate* one : points()) {
      const bool now =
          is_own(*one) || (plan_.baseline_among && &plan_.candidates[*plan_.baseline_among] == one);
      const double half = kMark / 2;
      const double x = x_at(along(one->peak));
      const double y = y_at(step(*one));
      scene_.titles.push_back(fmt::format(
          "{}: {}, peak {}", one->name, time_text(one->step_time, unit_),
          relative_ ? fmt::format("{:.4g}", along(one->peak)) : bytes_text(static_cast<Bytes>(one->peak))));
      const OpKind kind = one->searched() ? kSearched : kPublished;
      rectangle({x - half, y - half, x + half, y + half},
                now ? colours_.text : draw::kind_colour(draw::Theme::Light, kind), draw::Role::Op,
                static_cast<std::uint32_t>(scene_.titles.size() - 1));
    }
  }

  /// Those of what runs now and of the front, the fastest first; one that would lie on another is left to its title.
  void add_names() {
    std::vector<draw::Box> taken;
    const auto name = [&](const PlanCandidate& one, const std::string& words) {
      const double width = draw::text_width(words, kFont);
      const double x = x_at(along(one.peak));
      const double y = y_at(step(one)) - kMark;
      const bool left = x + kMark + width > kWidth - kRight;
      const draw::Box box{left ? x - kMark - width : x + kMark, y - kFont,
                          left ? x - kMark : x + kMark + width, y + 3};
      if (std::ranges::any_of(taken, [&](const draw::Box& other) { return box.meets(other); })) return;
      taken.push_back(box);
      text(left ? x - kMark : x + kMark, y, words, colours_.text,
           left ? draw::Align::End : draw::Align::Start);
    };
    if (plan_.baseline && !plan_.baseline_among) name(*plan_.baseline, plan_.baseline->name + " (now)");
    for (const std::size_t i : plan_.pareto)
      name(plan_.candidates[i], plan_.candidates[i].name + (plan_.baseline_among == i ? " (now)" : ""));
    if (plan_.baseline_among) {
      const PlanCandidate& now = plan_.candidates[*plan_.baseline_among];
      if (std::ranges::find(plan_.pareto, *plan_.baseline_among) == plan_.pareto.end())
        name(now, now.name + " (now)");
    }
  }

  const Plan& plan_;
  TimeUnit unit_;
  bool relative_;
  std::optional<double> limit_;
  const draw::Surface& colours_;
  sweep::Scale x_;
  sweep::Scale y_;
  double left_ = 40;
  draw::Scene scene_;
};

}  // namespace

draw::Scene pareto_picture(const Plan& plan) {
  return Picture(plan).drawn();
}

}  // namespace pipeloom::study

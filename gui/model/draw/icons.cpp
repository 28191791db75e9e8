#include "gui/model/draw/icons.hpp"

#include <array>

namespace pipeloom::gui {
namespace {

constexpr IconStroke kCross[] = {{-0.7F, -0.7F, 0.7F, 0.7F}, {0.7F, -0.7F, -0.7F, 0.7F}};
constexpr IconArea kPlay[] = {{-0.6F, -0.9F, 0.9F, 0, -0.6F, 0.9F, -0.6F, 0.9F}};
constexpr IconArea kPause[] = {{-0.7F, -0.9F, -0.2F, -0.9F, -0.2F, 0.9F, -0.7F, 0.9F},
                               {0.2F, -0.9F, 0.7F, -0.9F, 0.7F, 0.9F, 0.2F, 0.9F}};
constexpr IconArea kBack[] = {{0.8F, -0.9F, 0.8F, 0.9F, -0.5F, 0, -0.5F, 0}};
constexpr IconStroke kBackBar[] = {{-0.75F, -0.9F, -0.75F, 0.9F}};
constexpr IconArea kForward[] = {{-0.8F, -0.9F, 0.5F, 0, -0.8F, 0.9F, -0.8F, 0.9F}};
constexpr IconStroke kForwardBar[] = {{0.75F, -0.9F, 0.75F, 0.9F}};
constexpr IconStroke kPin[] = {{-0.9F, -0.9F, 0.9F, -0.9F}, {0, -0.9F, 0, 1.1F}, {-0.6F, 0.2F, 0.6F, 0.2F}};
constexpr IconStroke kDown[] = {{-0.8F, -0.4F, 0, 0.4F}, {0, 0.4F, 0.8F, -0.4F}};
constexpr IconStroke kUp[] = {{-0.8F, 0.4F, 0, -0.4F}, {0, -0.4F, 0.8F, 0.4F}};
constexpr IconStroke kRight[] = {{-0.4F, -0.8F, 0.4F, 0}, {0.4F, 0, -0.4F, 0.8F}};
// A circle that goes back to where it began.
constexpr IconStroke kReset[] = {
    {-0.40F, -0.69F, 0.15F, -0.79F}, {0.15F, -0.79F, 0.63F, -0.49F},  {0.63F, -0.49F, 0.80F, 0.04F},
    {0.80F, 0.04F, 0.58F, 0.56F},    {0.58F, 0.56F, 0.07F, 0.80F},    {0.07F, 0.80F, -0.47F, 0.65F},
    {-0.47F, 0.65F, -0.78F, 0.18F},  {-0.40F, -0.69F, 0.15F, -0.64F}, {-0.40F, -0.69F, -0.30F, -1.19F}};
constexpr IconStroke kMany[] = {{-0.8F, -0.7F, 0.8F, -0.7F}, {-0.8F, 0, 0.8F, 0}, {-0.8F, 0.7F, 0.8F, 0.7F}};
constexpr IconStroke kOne[] = {{-0.8F, 0, 0.8F, 0}, {-0.8F, -0.6F, -0.8F, 0.6F}, {0.8F, -0.6F, 0.8F, 0.6F}};
constexpr IconStroke kMinus[] = {{-0.7F, 0, 0.7F, 0}};
constexpr IconStroke kPlus[] = {{-0.7F, 0, 0.7F, 0}, {0, -0.7F, 0, 0.7F}};

constexpr std::array<IconShape, kIcons> kShapes = {{{Icon::Cross, kCross, {}},
                                                    {Icon::Play, {}, kPlay},
                                                    {Icon::Pause, {}, kPause},
                                                    {Icon::StepBack, kBackBar, kBack},
                                                    {Icon::StepForward, kForwardBar, kForward},
                                                    {Icon::Pin, kPin, {}},
                                                    {Icon::Down, kDown, {}},
                                                    {Icon::Up, kUp, {}},
                                                    {Icon::Right, kRight, {}},
                                                    {Icon::Reset, kReset, {}},
                                                    {Icon::Many, kMany, {}},
                                                    {Icon::One, kOne, {}},
                                                    {Icon::Minus, kMinus, {}},
                                                    {Icon::Plus, kPlus, {}}}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kIcons; ++i)
    if (kShapes[i].icon != static_cast<Icon>(i)) return false;
  return true;
}
static_assert(in_order());

}  // namespace

const IconShape& shape_of(Icon icon) {
  return kShapes[static_cast<std::size_t>(icon)];
}

}  // namespace pipeloom::gui

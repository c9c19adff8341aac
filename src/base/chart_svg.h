// A Chart as one inline SVG element: no script, no outside reference, colours from CSS variables of the page (--ink, --grid), series told apart by
// colour and by dash or marker, so that it reads in grey and by the colour-blind (palette: Okabe and Ito, "Color Universal Design";
// heatmaps: cividis, Nuñez et al. 2018).
#pragma once

#include <string>

#include "base/report.h"

namespace weft {

std::string chart_svg(const Chart& chart);
// &, <, >, " and ' escaped, text made printable.
std::string escape_html(std::string_view s);

}  // namespace weft

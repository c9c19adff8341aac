// Text as it appears in a terminal or report: columns (Chinese characters take two), wrapping, and nothing that could
// move the cursor or reverse the reading direction.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Valid UTF-8 without control characters: ESC sequences are dropped, other controls (tab and newline become blanks unless
// `keep_newlines`), bidirectional overrides and broken bytes become U+FFFD.
std::string printable(std::string_view s, bool keep_newlines = false);
// Terminal columns of valid UTF-8: combining marks 0, East Asian wide and full-width 2 (Unicode UAX #11), else 1.
int display_width(std::string_view s);
// Lines of at most `width` columns (at least 2), broken at blanks or between wide characters, inside a word only when it is longer than
// a line. Nothing is lost but the blanks at breaks. Newlines break too. At least one line, which may be empty.
std::vector<std::string> wrap(std::string_view s, int width);
std::string pad_right(std::string_view s, int width);
std::string pad_left(std::string_view s, int width);

}  // namespace weft

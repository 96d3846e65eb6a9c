//! Plots as SVG: lines over a common axis, and bars.

use crate::report::push;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 170.0;
const TOP: f64 = 46.0;
const BOTTOM: f64 = 50.0;
const BAR: f64 = 22.0;
const COLOURS: [&str; 11] = [
    "#0b6bcb", "#c0392b", "#e08e0b", "#8e44ad", "#16a085", "#7f8c8d", "#2c3e50", "#d35400",
    "#27ae60", "#5dade2", "#c2185b",
];

/// A line of a plot.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// Lines, from 0 on both axes.
pub(crate) fn lines(title: &str, (across, up): (&str, &str), series: &[Series]) -> String {
    let most = |of: fn(&(f64, f64)) -> f64| {
        let all = series
            .iter()
            .flat_map(|series| series.points.iter().map(of));
        all.fold(f64::MIN_POSITIVE, f64::max)
    };
    let (x_most, y_most) = (most(|point| point.0), ceiling(most(|point| point.1)));
    let x = |value: f64| LEFT + value / x_most * (WIDTH - LEFT - RIGHT);
    let y = |value: f64| HEIGHT - BOTTOM - value / y_most * (HEIGHT - TOP - BOTTOM);
    let mut out = begin(title, HEIGHT);
    for step in 0..=4 {
        let share = f64::from(step) / 4.0;
        let (value, at) = (y_most * share, y(y_most * share));
        push(
            &mut out,
            format_args!(
                "<line x1='{LEFT}' x2='{}' y1='{at:.1}' y2='{at:.1}' stroke='#ddd'/>\
                 <text x='{}' y='{:.1}' text-anchor='end'>{}</text>\n",
                WIDTH - RIGHT,
                LEFT - 8.0,
                at + 4.0,
                number(value)
            ),
        );
        let (value, at) = (x_most * share, x(x_most * share));
        push(
            &mut out,
            format_args!(
                "<text x='{at:.1}' y='{}' text-anchor='middle'>{value:.1}</text>\n",
                HEIGHT - BOTTOM + 18.0
            ),
        );
    }
    push(
        &mut out,
        format_args!(
            "<text x='{}' y='{}' text-anchor='middle'>{}</text>\
             <text transform='translate(16 {}) rotate(-90)' text-anchor='middle'>{}</text>\n",
            f64::midpoint(LEFT, WIDTH - RIGHT),
            HEIGHT - 10.0,
            escaped(across),
            f64::midpoint(TOP, HEIGHT - BOTTOM),
            escaped(up)
        ),
    );
    for (place, (series, colour)) in series.iter().zip(COLOURS.iter().cycle()).enumerate() {
        let points: Vec<String> = series
            .points
            .iter()
            .map(|point| format!("{:.1},{:.1}", x(point.0), y(point.1)))
            .collect();
        let at = TOP + 18.0 * f64::from(u32::try_from(place).unwrap_or(0));
        push(
            &mut out,
            format_args!(
                "<polyline points='{}' fill='none' stroke='{colour}' stroke-width='1.6'/>\
                 <rect x='{}' y='{}' width='12' height='3' fill='{colour}'/>\
                 <text x='{}' y='{}'>{}</text>\n",
                points.join(" "),
                WIDTH - RIGHT + 14.0,
                at - 5.0,
                WIDTH - RIGHT + 32.0,
                at,
                escaped(&series.name)
            ),
        );
    }
    out + "</svg>\n"
}

/// A bar for each row.
pub(crate) fn bars(title: &str, rows: &[(String, f64)]) -> String {
    let count = f64::from(u32::try_from(rows.len()).unwrap_or(0));
    let height = TOP + BAR * count + 16.0;
    let most = rows
        .iter()
        .map(|row| row.1)
        .fold(f64::MIN_POSITIVE, f64::max);
    let left = LEFT + 50.0;
    let mut out = begin(title, height);
    let mut at = TOP;
    for (place, (name, value)) in rows.iter().enumerate() {
        let wide = value / most * (WIDTH - left - 80.0);
        let colour = if place == 0 { COLOURS[0] } else { "#b8c4d0" };
        push(
            &mut out,
            format_args!(
                "<text x='{}' y='{:.1}' text-anchor='end'>{}</text>\
                 <rect x='{left}' y='{:.1}' width='{wide:.1}' height='{}' fill='{colour}'/>\
                 <text x='{:.1}' y='{:.1}'>{}</text>\n",
                left - 8.0,
                at + 14.0,
                escaped(name),
                at + 2.0,
                BAR - 6.0,
                left + wide + 6.0,
                at + 14.0,
                number(*value)
            ),
        );
        at += BAR;
    }
    out + "</svg>\n"
}

fn begin(title: &str, height: f64) -> String {
    format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' \
         font-family='sans-serif' font-size='12' fill='#333'>\n\
         <rect width='{WIDTH}' height='{height}' fill='#fff'/>\n\
         <text x='{LEFT}' y='24' font-size='15' font-weight='bold'>{}</text>\n",
        escaped(title)
    )
}

/// 1, 2 or 5 times a power of ten, not below `value`.
fn ceiling(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    let step = steps.into_iter().find(|step| step * power >= value);
    step.unwrap_or(10.0) * power
}

fn number(value: f64) -> String {
    if value >= 100.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.1}")
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_ends_at_a_round_number() {
        for (value, end) in [(7.0, 10.0), (150.0, 200.0), (0.3, 0.5), (5.0, 5.0)] {
            assert!((ceiling(value) - end).abs() < 1e-9, "{value}");
        }
    }

    #[test]
    fn names_are_escaped_and_every_line_is_drawn() {
        let series = |name: &str| Series {
            name: name.to_owned(),
            points: vec![(0.0, 1.0), (2.0, 3.0)],
        };
        let svg = lines("a & b", ("x", "y"), &[series("<one>"), series("two")]);
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(svg.contains("&lt;one>") && svg.contains("a &amp; b"));
        let svg = bars("t", &[("one".to_owned(), 1.0), ("two".to_owned(), 2.0)]);
        assert_eq!(svg.matches("<rect").count(), 3);
    }
}

"""SVG charts and attention maps, shared by curves, reports and explanations."""

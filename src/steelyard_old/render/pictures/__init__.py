"""Pictures with the uncertainty in them: said once as plain values, drawn as SVG or by matplotlib."""

"""The report as one HTML page that needs nothing else: page.html, style.css and script.js, and who fills them."""

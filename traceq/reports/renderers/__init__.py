"""From blocks and reports to text, Markdown, HTML, JSON, JUnit and SARIF."""

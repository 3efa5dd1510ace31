"""The pages: server-rendered HTML that reads without JavaScript and drills by links.

Belongs here: questions to the desk, view values for the templates, links, text of figures, static
files. May not be here: SQL, arithmetic on costs beyond shares of a sum, words that are not in the
catalogue (`facts.words`), inline script or style (the policy forbids it). The way of a request:
`routes` reads the URL into a `CostQuery` (`asked`), asks a `Desk` (`desk`), one module a page makes
view values, `render` fills the template and answers with ETag and policy.
"""

from seedance.web.pages.routes import problem_page, router

__all__ = ["problem_page", "router"]

"use strict";
fetch("api/v1/state").then(reply => reply.json()).then(state => {
  document.getElementById("state").textContent = `${state.graph}: ${state.state}`;
});
